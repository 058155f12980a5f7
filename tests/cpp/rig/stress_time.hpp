#pragma once

#include <chrono>

namespace pydoca {

/// How long a stress test of two threads goes on: beside busy processes each hand-over takes milliseconds, so that
/// thousands of them would take minutes. The test does as many rounds as fit in.
class StressTime {
 public:
  bool over() const noexcept { return Clock::now() >= end_; }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point end_ = Clock::now() + std::chrono::seconds(8);
};

}  // namespace pydoca
