#pragma once

#include "detail/fd.hpp"

#include <algorithm>
#include <chrono>
#include <sys/timerfd.h>

namespace pydoca::detail {

/// Wakes an engine that waits for memory which may change without a wake-up: soon at first, then ever less often,
/// at least once a millisecond.
class EventTimer {
 public:
  static constexpr std::chrono::microseconds shortest{50};
  static constexpr std::chrono::microseconds longest{800};

  /// False when the system is out of descriptors.
  explicit operator bool() const noexcept { return static_cast<bool>(fd_); }
  int fd() const noexcept { return fd_.get(); }

  /// Fires once. The next interval is twice as long.
  void start() noexcept {
    const auto ns = std::chrono::nanoseconds(interval_).count();
    const itimerspec when{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_nsec = ns}};
    ::timerfd_settime(fd_.get(), 0, &when, nullptr);
    interval_ = std::min(2 * interval_, longest);
  }
  /// The memory changed: it may soon again.
  void hurry() noexcept { interval_ = shortest; }

 private:
  Fd fd_{::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)};
  std::chrono::microseconds interval_ = shortest;
};

}  // namespace pydoca::detail
