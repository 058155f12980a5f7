#include "detail/thread/looks.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace pydoca::detail {
namespace {

TEST(Looks, EndAfterTheirNumber) {
  Looks looks(3);
  EXPECT_EQ(looks.count(), 1);
  EXPECT_TRUE(looks.wait_for_next());
  EXPECT_TRUE(looks.wait_for_next());
  EXPECT_EQ(looks.count(), 3);
  EXPECT_FALSE(looks.wait_for_next());
}

TEST(Looks, EndWithTime) {
  Looks looks(std::numeric_limits<int>::max());
  while (looks.wait_for_next()) {
  }
  EXPECT_LT(looks.count(), std::numeric_limits<int>::max());
}

}  // namespace
}  // namespace pydoca::detail
