#pragma once

#include "detail/thread/atomic.hpp"

#include <cstdint>

namespace pydoca::detail {

/// Later than any moment.
inline constexpr std::uint64_t never = UINT64_MAX;

/// The time of the virtual clock (virtual_clock.hpp); 0: this process has none.
inline constinit Atomic<std::uint64_t> virtual_now{0};

/// Counts the beginnings and ends of virtual time: moments of different numbers cannot be compared.
inline constinit Atomic<std::uint32_t> clock_number{0};

/// The seed of virtual time, from which others follow; 0 without it.
inline constinit Atomic<std::uint64_t> virtual_seed{0};
/// What a component with a seed of its own starts from: in virtual time another one for each seed of that.
inline std::uint64_t mixed_seed(std::uint64_t own) noexcept {
  return own + virtual_seed.load(std::memory_order_relaxed) * 0x9e3779b97f4a7c15U;
}

inline bool is_time_virtual() noexcept { return virtual_now.load(std::memory_order_relaxed) != 0; }

std::uint64_t monotonic_now() noexcept;

/// Nanoseconds on the clock that the timers and time-outs of this process follow: CLOCK_MONOTONIC, or the virtual one.
inline std::uint64_t now() noexcept {
  const std::uint64_t moment = virtual_now.load(std::memory_order_relaxed);
  return moment != 0 ? moment : monotonic_now();
}

}  // namespace pydoca::detail
