#pragma once

#include <cstdint>

namespace pydoca::detail {

/// Nanoseconds on the clock that the timers and time-outs of this process follow: CLOCK_MONOTONIC.
std::uint64_t now() noexcept;

/// Later than any moment.
inline constexpr std::uint64_t never = UINT64_MAX;

}  // namespace pydoca::detail
