#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace pydoca::detail {

/// FNV-1a. Each step is a bijection of the state, so that a change in any one byte changes the result.
inline std::uint64_t checksum(std::span<const std::byte> bytes) noexcept {
  std::uint64_t state = 0xcbf29ce484222325;
  for (const std::byte byte : bytes) {
    state = (state ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3;
  }
  return state;
}

/// Writes fields one after the other, numbers in little-endian, into bytes that are enough for them.
class BlobWriter {
 public:
  explicit BlobWriter(std::span<std::byte> bytes) noexcept : next_(bytes.begin()) {}

  template <class T>
  void number(T value) noexcept {
    for (std::size_t i = 0; i < sizeof value; ++i) {
      *next_++ = static_cast<std::byte>(static_cast<std::uint64_t>(value) >> (8 * i));
    }
  }
  void bytes(std::span<const std::byte> value) noexcept { next_ = std::ranges::copy(value, next_).out; }
  void text(std::span<const char> value) noexcept { bytes(std::as_bytes(value)); }

 private:
  std::span<std::byte>::iterator next_;
};

/// Reads fields in the same order, from bytes whose number was checked beforehand.
class BlobReader {
 public:
  explicit BlobReader(std::span<const std::byte> bytes) noexcept : next_(bytes.begin()) {}

  template <class T>
  T number() noexcept {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      value |= std::to_integer<std::uint64_t>(*next_++) << (8 * i);
    }
    return static_cast<T>(value);
  }
  void bytes(std::span<std::byte> value) noexcept {
    std::ranges::generate(value, [this] { return *next_++; });
  }
  void text(std::span<char> value) noexcept { bytes(std::as_writable_bytes(value)); }

 private:
  std::span<const std::byte>::iterator next_;
};

}  // namespace pydoca::detail
