#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

/// Fills and compares bytes by memset, memcmp and in units of eight bytes: with a sanitizer, loops over bytes would
/// take most of a test's time.
namespace pydoca {

using Bytes = std::vector<std::byte>;

inline void fill(std::span<std::byte> bytes, std::byte value) {
  std::memset(bytes.data(), std::to_integer<int>(value), bytes.size());
}

/// Bytes that differ from piece to piece, and from seed to seed.
inline void fill_pattern(std::span<std::byte> bytes, std::uint64_t seed) {
  std::uint64_t state = seed * 0x9E3779B97F4A7C15ULL + 1;
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(state)) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    std::memcpy(&bytes[at], &state, std::min(sizeof(state), bytes.size() - at));
  }
}

inline Bytes pattern(std::size_t length, std::uint64_t seed = 1) {
  Bytes bytes(length);
  fill_pattern(bytes, seed);
  return bytes;
}

inline bool same(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

/// The payload of a message between processes.
inline std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
inline std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

}  // namespace pydoca
