#include "detail/time/timer.hpp"

#include "detail/clock.hpp"
#include "detail/time/time.hpp"

#include <algorithm>
#include <sys/timerfd.h>

namespace pydoca::detail {

std::uint64_t now() noexcept { return nanoseconds_of(CLOCK_MONOTONIC); }

Timer::Timer() noexcept : fd_(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)) {}

/// To set a timer also clears that it has fired; a time of 0 would disarm it.
void Timer::set(std::uint64_t at) noexcept {
  itimerspec when{};
  if (at != never) {
    const std::uint64_t due = std::max<std::uint64_t>(at, 1);
    when.it_value = {.tv_sec = static_cast<time_t>(due / 1'000'000'000),
                     .tv_nsec = static_cast<long>(due % 1'000'000'000)};
  }
  ::timerfd_settime(fd_.get(), TFD_TIMER_ABSTIME, &when, nullptr);
}

void Timer::clear() noexcept { set(never); }

}  // namespace pydoca::detail
