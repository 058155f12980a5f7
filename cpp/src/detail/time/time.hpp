#pragma once

#include "detail/thread/atomic.hpp"

#include <cstdint>

namespace pydoca::detail {

/// Later than any moment.
inline constexpr std::uint64_t never = UINT64_MAX;

/// The time of the virtual clock (virtual_clock.hpp); 0: this process has none.
inline constinit Atomic<std::uint64_t> virtual_now{0};

inline bool is_time_virtual() noexcept { return virtual_now.load(std::memory_order_relaxed) != 0; }

std::uint64_t monotonic_now() noexcept;

/// Nanoseconds on the clock that the timers and time-outs of this process follow: CLOCK_MONOTONIC, or the virtual one.
inline std::uint64_t now() noexcept {
  const std::uint64_t moment = virtual_now.load(std::memory_order_relaxed);
  return moment != 0 ? moment : monotonic_now();
}

}  // namespace pydoca::detail
