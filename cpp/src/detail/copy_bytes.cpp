#include "detail/copy_bytes.hpp"

#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace pydoca::detail {

#if defined(__x86_64__)

namespace {

constexpr std::size_t line = 64;

/// How far ahead of the reads to prefetch: the source streams as well.
constexpr std::size_t ahead = 8 * line;

__attribute__((target("avx"))) void stream_lines(std::byte* dst, const std::byte* src, std::size_t lines) noexcept {
  for (; lines > 0; --lines, dst += line, src += line) {
    _mm_prefetch(reinterpret_cast<const char*>(src + ahead), _MM_HINT_NTA);
    const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src));
    const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src + line / 2));
    _mm256_stream_si256(reinterpret_cast<__m256i*>(dst), low);
    _mm256_stream_si256(reinterpret_cast<__m256i*>(dst + line / 2), high);
  }
  _mm_sfence();
}

}  // namespace

bool can_stream() noexcept { return __builtin_cpu_supports("avx") != 0; }

void copy_streaming(std::byte* dst, const std::byte* src, std::size_t size) noexcept {
  const std::size_t head = (line - reinterpret_cast<std::uintptr_t>(dst) % line) % line;
  if (!can_stream() || size < head + line) {
    std::memcpy(dst, src, size);
    return;
  }
  std::memcpy(dst, src, head);
  const std::size_t lines = (size - head) / line;
  stream_lines(dst + head, src + head, lines);
  const std::size_t copied = head + lines * line;
  std::memcpy(dst + copied, src + copied, size - copied);
}

#else

bool can_stream() noexcept { return false; }

void copy_streaming(std::byte* dst, const std::byte* src, std::size_t size) noexcept { std::memcpy(dst, src, size); }

#endif

}  // namespace pydoca::detail
