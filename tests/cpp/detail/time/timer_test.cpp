#include "detail/time/timer.hpp"

#include "detail/time/time.hpp"

#include <gtest/gtest.h>

#include <poll.h>

namespace pydoca::detail {
namespace {

bool is_readable(const Timer& timer, int timeout_ms = 0) {
  pollfd event{.fd = timer.fd(), .events = POLLIN, .revents = 0};
  return ::poll(&event, 1, timeout_ms) == 1;
}

TEST(TimerTest, IsReadableFromItsMomentOn) {
  Timer timer;
  ASSERT_TRUE(timer);
  EXPECT_FALSE(is_readable(timer));
  const std::uint64_t due = now() + 2'000'000;
  timer.set(due);
  EXPECT_TRUE(is_readable(timer, 20'000));
  EXPECT_GE(now(), due);
}

TEST(TimerTest, TakesAMomentThatHasPassed) {
  Timer timer;
  timer.set(0);
  EXPECT_TRUE(is_readable(timer, 20'000));
}

TEST(TimerTest, ForgetsItsMomentWhenItIsClearedOrSetAnew) {
  Timer timer;
  timer.set(1);
  EXPECT_TRUE(is_readable(timer, 20'000));
  timer.clear();
  EXPECT_FALSE(is_readable(timer));
  timer.set(1);
  timer.set(now() + 1'000'000'000'000);
  EXPECT_FALSE(is_readable(timer));
}

}  // namespace
}  // namespace pydoca::detail
