#pragma once

#include <chrono>
#include <sched.h>

namespace pydoca::detail {

/// Looks at what another thread or process is about to do, which it does without a notification. They end after so
/// many, and after a second: beside a busy machine each yield lasts as long as the turns of all others.
class Looks {
 public:
  explicit Looks(int most) noexcept : most_(most) {}

  int count() const noexcept { return count_; }
  /// Lets others run before the next look. False: that was the last one.
  bool wait_for_next() noexcept {
    const Clock::time_point now = Clock::now();
    if (count_ == 1) {
      end_ = now + std::chrono::seconds(1);
    }
    if (count_ == most_ || now >= end_) {
      return false;
    }
    ++count_;
    ::sched_yield();
    return true;
  }

 private:
  using Clock = std::chrono::steady_clock;

  int most_;
  int count_ = 1;  ///< the look that is made now has this number
  Clock::time_point end_;
};

}  // namespace pydoca::detail
