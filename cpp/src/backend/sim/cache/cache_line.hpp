#pragma once

#include <cstddef>
#include <cstdint>

namespace pydoca::sim {

/// Why this processor's caches cannot be told to let go of memory; empty: they can.
#if defined(__x86_64__) || defined(__aarch64__)
inline constexpr const char* no_cache_lines = "";
#else
inline constexpr const char* no_cache_lines = "this processor has no instruction for it that programs may use";
#endif

/// Every such processor's lines are this long, or a multiple of it.
inline constexpr std::uintptr_t cache_line = 64;

/// Writes what the caches have changed of these bytes back to memory, and drops it from all of them: the next access
/// reads memory. Lines are dropped as a whole.
inline void drop_from_caches(const std::byte* data, std::size_t size) noexcept {
  const auto end = reinterpret_cast<std::uintptr_t>(data) + size;
  for (auto line = reinterpret_cast<std::uintptr_t>(data) & ~(cache_line - 1); line < end; line += cache_line) {
#if defined(__x86_64__)
    __builtin_ia32_clflush(reinterpret_cast<const void*>(line));
#elif defined(__aarch64__)
    asm volatile("dc civac, %0" ::"r"(line) : "memory");
#endif
  }
#if defined(__x86_64__)
  __builtin_ia32_mfence();
#elif defined(__aarch64__)
  asm volatile("dsb ish" ::: "memory");
#endif
}

}  // namespace pydoca::sim
