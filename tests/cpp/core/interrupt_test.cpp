#include "pydoca/interrupt.hpp"

#include <gtest/gtest.h>

namespace pydoca {
namespace {

int asked = 0;

TEST(Interrupt, WithoutACheckNothingIsInterrupted) { EXPECT_FALSE(interrupted()); }

TEST(Interrupt, TheCheckIsAskedEachTime) {
  set_interrupt_check([]() noexcept { return ++asked == 2; });
  EXPECT_FALSE(interrupted());
  EXPECT_TRUE(interrupted());
  EXPECT_FALSE(interrupted());
  set_interrupt_check(nullptr);
  EXPECT_FALSE(interrupted());
  EXPECT_EQ(asked, 3);
}

}  // namespace
}  // namespace pydoca
