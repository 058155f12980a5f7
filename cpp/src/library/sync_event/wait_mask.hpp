#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace pydoca::library {

inline constexpr std::uint8_t no_group = 0xff;  ///< the number of all that is not a mask of waits

/// Numbers the masks that waits may have: 0, then runs of 1, 2, 4 and 8 bytes of 0xFF by their place.
constexpr std::uint8_t group_of(std::uint64_t mask) noexcept {
  if (mask == 0) {
    return 0;
  }
  const int first = std::countr_zero(mask);
  const int length = std::countr_one(mask >> first);
  const bool is_run = first % 8 == 0 && first + length + std::countl_zero(mask) == 64;
  if (!is_run || (length != 8 && length != 16 && length != 32 && length != 64)) {
    return no_group;
  }
  constexpr std::array<std::uint8_t, 4> groups_before{1, 9, 16, 21};  // 8, 7, 5 places for the shorter ones
  return static_cast<std::uint8_t>(
      groups_before[static_cast<std::size_t>(std::countr_zero(static_cast<unsigned>(length) / 8))] + first / 8);
}
static_assert(group_of(~std::uint64_t{0}) == 21 && group_of(0xff) == 1 && group_of(0xffffff) == no_group);

}  // namespace pydoca::library
