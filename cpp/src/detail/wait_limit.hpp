#pragma once

#include "pydoca/interrupt.hpp"
#include "pydoca/status.hpp"

#include <chrono>

namespace pydoca::detail {

/// What ends one blocking wait before that which is waited for.
class WaitLimit {
 public:
  using Clock = std::chrono::steady_clock;

  explicit WaitLimit(std::chrono::milliseconds timeout) noexcept : end_(Clock::now() + timeout) {}

  /// success: go on waiting, for interrupt_slice at most; time_out; again: a signal wants the thread. Hold no lock: the
  /// application is asked.
  Status check() noexcept {
    const Clock::time_point now = Clock::now();
    if (now >= question_) {
      question_ = now + interrupt_slice;
      if (interrupted()) {
        return Status::again;
      }
    }
    return now >= end_ ? Status::time_out : Status::success;
  }

 private:
  Clock::time_point end_;
  Clock::time_point question_{};  ///< at once: a signal that has ended one wait ends those that follow in the same call
};

}  // namespace pydoca::detail
