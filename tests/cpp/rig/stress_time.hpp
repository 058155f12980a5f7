#pragma once

#include <chrono>

namespace pydoca {

/// The time limit of a stress test of two threads. Each hand-over takes milliseconds on a busy machine, so thousands of
/// them would take minutes. The test does as many rounds as the limit allows.
class StressTime {
 public:
  bool over() const noexcept { return Clock::now() >= end_; }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point end_ = Clock::now() + std::chrono::seconds(8);
};

}  // namespace pydoca
