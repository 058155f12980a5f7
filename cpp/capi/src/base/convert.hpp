/// Values of the engine as C has them, and back.
#pragma once

#include "pydoca/status.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <doca_types.h>
#include <string>
#include <string_view>

namespace pydoca::capi {

/// The number of an enumerator. A program may give one that its enumeration lacks, which C++ must not read as such.
template <class Enumeration>
std::uint32_t number_of(const Enumeration& enumerator) noexcept {
  return std::bit_cast<std::uint32_t>(enumerator);
}

inline doca_data as_data(std::uint64_t word) noexcept {
  doca_data data;
  data.u64 = word;
  return data;
}

inline std::uint64_t address_of(const void* pointer) noexcept { return reinterpret_cast<std::uintptr_t>(pointer); }
inline void* pointer_to(std::uint64_t address) noexcept {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
}

/// An enumerator of C as the engine's, which may have 8 bits. A number from count on stays one that no enumerator has;
/// with the engine's count, the engine's own look at the number needs no instruction where it is inlined.
template <class Enum, std::uint32_t count = 256, class CEnum>
Enum enumerator(const CEnum& value) noexcept {
  return static_cast<Enum>(number_of(value) < count ? number_of(value) : 255U);
}

/// Writes text, with a NUL, to size bytes at out. Throws unexpected for a longer text.
inline void copy_text(std::string_view text, char* out, std::size_t size) {
  if (text.size() >= size) {
    throw Error(Status::unexpected, std::string(text) + " has more than " + std::to_string(size - 1) + " letters");
  }
  *std::copy(text.begin(), text.end(), out) = '\0';
}

/// Writes what an object has as an array, such as an address, to out.
template <std::size_t count>
void copy_bytes(const std::array<std::uint8_t, count>& bytes, std::uint8_t* out) noexcept {
  std::copy(bytes.begin(), bytes.end(), out);
}

/// Throws invalid_value when a caller's memory of size bytes has no room for what is written there.
inline void require_room(std::size_t size, std::size_t needed) {
  if (size < needed) {
    throw Error(Status::invalid_value,
                "size is " + std::to_string(size) + ", and must be at least " + std::to_string(needed));
  }
}

}  // namespace pydoca::capi
