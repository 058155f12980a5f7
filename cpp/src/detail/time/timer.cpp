#include "detail/time/timer.hpp"

#include "detail/clock.hpp"
#include "detail/time/time.hpp"
#include "detail/time/virtual_clock.hpp"

#include <algorithm>
#include <sys/eventfd.h>
#include <sys/timerfd.h>

namespace pydoca::detail {

namespace {

int create(bool is_virtual) noexcept {
  return is_virtual ? ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)
                    : ::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
}

}  // namespace

std::uint64_t monotonic_now() noexcept { return nanoseconds_of(CLOCK_MONOTONIC); }

Timer::Timer() noexcept : is_virtual_(is_time_virtual()), fd_(create(is_virtual_)) {}

Timer::~Timer() {
  if (is_virtual_) {
    VirtualClock::instance().remove(*this);
  }
}

void Timer::set(std::uint64_t at) noexcept {
  if (is_virtual_) {
    clear();
    if (at != never) {
      VirtualClock::instance().add(*this, at);
    }
    return;
  }
  itimerspec when{};
  if (at != never) {
    const std::uint64_t due = std::max<std::uint64_t>(at, 1);  // 0 disarms it
    when.it_value = {.tv_sec = static_cast<time_t>(due / 1'000'000'000),
                     .tv_nsec = static_cast<long>(due % 1'000'000'000)};
  }
  ::timerfd_settime(fd_.get(), TFD_TIMER_ABSTIME, &when, nullptr);
}

void Timer::clear() noexcept {
  if (!is_virtual_) {
    set(never);
    return;
  }
  VirtualClock::instance().remove(*this);
  eventfd_t fired = 0;
  ::eventfd_read(fd_.get(), &fired);
}

void Timer::fire() noexcept { ::eventfd_write(fd_.get(), 1); }

}  // namespace pydoca::detail
