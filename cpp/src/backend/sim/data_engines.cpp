#include "backend/sim/cache/cache_queue.hpp"
#include "backend/sim/copy/copy_queue.hpp"
#include "backend/sim/sha/hash_queue.hpp"
#include "backend/sim/work/data_engine.hpp"

#include <algorithm>
#include <array>

namespace pydoca::sim {

const DataEngine* find_data_engine(std::string_view name) noexcept {
  static constexpr std::array engines{&copy_engine, &hash_engine, &cache_engine};
  const auto* const found = std::ranges::find(engines, name, &DataEngine::name);
  return found != engines.end() ? *found : nullptr;
}

}  // namespace pydoca::sim
