#pragma once

#include "detail/time/time.hpp"
#include "detail/time/timer.hpp"

#include <algorithm>
#include <chrono>

namespace pydoca::detail {

/// Wakes an engine that waits for memory which may change without a wake-up: soon at first, then ever less often,
/// at least once a millisecond.
class EventTimer {
 public:
  static constexpr std::chrono::microseconds shortest{50};
  static constexpr std::chrono::microseconds longest{800};

  /// False when the system is out of descriptors.
  explicit operator bool() const noexcept { return static_cast<bool>(timer_); }
  int fd() const noexcept { return timer_.fd(); }

  /// Fires once. The next interval is twice as long.
  void start() noexcept {
    timer_.set(now() + static_cast<std::uint64_t>(std::chrono::nanoseconds(interval_).count()));
    interval_ = std::min(2 * interval_, longest);
  }
  /// The memory changed: it may soon again.
  void hurry() noexcept { interval_ = shortest; }

 private:
  Timer timer_;
  std::chrono::microseconds interval_ = shortest;
};

}  // namespace pydoca::detail
