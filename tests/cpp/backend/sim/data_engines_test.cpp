#include "pydoca/backend/engine.hpp"

#include "backend/sim/work/data_engine.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string_view>

namespace pydoca::sim {
namespace {

TEST(DataEngines, EachIsTheEngineOfALibrary) {
  for (const DataEngine* const engine : data_engines()) {
    EXPECT_TRUE(std::ranges::any_of(backend::engines(), [&](const auto* one) { return one->name == engine->name; }))
        << engine->name;
  }
}

TEST(DataEngines, NoTwoHaveOneName) {
  std::set<std::string_view> names;
  for (const DataEngine* const engine : data_engines()) {
    EXPECT_TRUE(names.insert(engine->timing).second) << engine->timing;
  }
}

}  // namespace
}  // namespace pydoca::sim
