#pragma once

#include "pydoca/interrupt.hpp"
#include "pydoca/status.hpp"

#include <chrono>

namespace pydoca::detail {

/// What ends one blocking wait early: a time-out, or a signal.
class WaitLimit {
 public:
  using Clock = std::chrono::steady_clock;

  /// nanoseconds::max(): for ever. A wait that may be short asks for signals only after its first slice; any
  /// other asks at once, because a signal that has ended one wait ends those that follow in the same call.
  explicit WaitLimit(std::chrono::nanoseconds timeout, std::chrono::nanoseconds first_question = {}) noexcept
      : begin_(Clock::now()),
        end_(timeout >= Clock::time_point::max() - begin_ ? Clock::time_point::max() : begin_ + timeout),
        question_(begin_ + first_question) {}

  /// success: go on waiting, for interrupt_slice at most; time_out; again: a signal wants the thread. Hold no lock: the
  /// application is asked.
  Status check() noexcept {
    now_ = Clock::now();
    if (now_ >= question_) {
      question_ = now_ + interrupt_slice;
      if (interrupted()) {
        return Status::again;
      }
    }
    return now_ >= end_ ? Status::time_out : Status::success;
  }
  /// How long the wait had lasted at the last check.
  Clock::duration waited() const noexcept { return now_ - begin_; }

 private:
  Clock::time_point begin_;
  Clock::time_point end_;
  Clock::time_point question_;
  Clock::time_point now_ = begin_;
};

}  // namespace pydoca::detail
