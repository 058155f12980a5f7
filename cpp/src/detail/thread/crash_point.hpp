#pragma once

#ifdef PYDOCA_CRASH_POINTS
#include <cstdint>
#endif

/// Where a process can be killed: between two changes of what processes share. The tests kill a process at its first
/// point, then at its second, until it survives (tests/cpp/crash). Only their builds define PYDOCA_CRASH_POINTS; in
/// others a point is nothing.
namespace pydoca::detail {

#ifdef PYDOCA_CRASH_POINTS
/// The process ends by SIGKILL at its n-th point from now on, in whatever thread; 0: at none.
void crash_at(std::uint64_t n) noexcept;
void crash_point() noexcept;
#else
inline void crash_point() noexcept {}
#endif

}  // namespace pydoca::detail
