#pragma once

#include "pydoca/interrupt.hpp"
#include "pydoca/status.hpp"

#include "detail/time/virtual_clock.hpp"

#include <chrono>
#include <cstdint>

namespace pydoca::detail {

/// Whether a wait is over, as any thread may find out.
template <class IsOver>
class Over final : public VirtualClock::Condition {
 public:
  explicit Over(const IsOver& is_over) noexcept : is_over_(is_over) {}
  bool holds() noexcept override { return is_over_(); }

 private:
  const IsOver& is_over_;
};

/// Waits in virtual time until is_over() holds, which another thread may ask, under no lock but the clock's. success:
/// it holds, or virtual time has ended; time_out; again: a signal wants the thread; unexpected: nothing can happen any
/// more.
template <class IsOver>
Status wait_in_virtual_time(const IsOver& is_over, std::chrono::nanoseconds timeout) noexcept {
  Over condition(is_over);
  const std::uint64_t until =
      timeout == std::chrono::nanoseconds::max() ? never : now() + static_cast<std::uint64_t>(timeout.count());
  switch (VirtualClock::instance().wait(&condition, until)) {
    case sim::Wake::due:
      return is_over() ? Status::success : Status::time_out;
    case sim::Wake::interrupted:
      return Status::again;
    case sim::Wake::stuck:
      return Status::unexpected;
    default:
      return Status::success;
  }
}

/// A look of a program that may look again and again: in virtual time it takes some, in which others may run.
inline void look_in_virtual_time() noexcept {
  if (is_time_virtual()) [[unlikely]] {
    run_blocking([]() noexcept { VirtualClock::instance().look_in_vain(0); });
  }
}

}  // namespace pydoca::detail
