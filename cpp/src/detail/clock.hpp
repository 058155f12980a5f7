#pragma once

#include <cstdint>
#include <ctime>

namespace pydoca::detail {

inline std::uint64_t nanoseconds_of(clockid_t clock) noexcept {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

#if defined(__x86_64__) || defined(__aarch64__)
inline constexpr bool has_processor_cycles = true;
#else
inline constexpr bool has_processor_cycles = false;
#endif

/// The counter that every core of this processor shares; 0 where it has none.
inline std::uint64_t processor_cycles() noexcept {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  std::uint64_t count = 0;
  asm volatile("mrs %0, cntvct_el0" : "=r"(count));
  return count;
#else
  return 0;
#endif
}

}  // namespace pydoca::detail
