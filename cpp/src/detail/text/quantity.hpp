/// Numbers with units, as "1.9us" and "25GB/s".
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace pydoca::detail {

/// A multiple of the smallest unit: 10^exponent * factor.
struct Unit {
  std::string_view name;
  int exponent = 0;
  double factor = 1;
};

/// The units of times, in nanoseconds. python/pydoca/_text/quantities.py has the same ones.
inline constexpr std::array time_units{Unit{"ns"},   Unit{"us", 3},      Unit{"\u00b5s", 3}, Unit{"ms", 6},
                                       Unit{"s", 9}, Unit{"min", 10, 6}, Unit{"h", 11, 36},  Unit{"d", 11, 864}};

/// A number and what stands behind it. A number may have a sign, a fraction and an exponent, whatever the locale.
struct Quantity {
  std::string number;
  int exponent = 0;
  std::string unit;  ///< empty: the text has none

  /// The number in the smallest unit.
  double in(const Unit& of) const;
};

/// Nothing unless the text is a number, then spaces or none, then at most one word.
std::optional<Quantity> to_quantity(std::string_view text);

/// In the largest of the units, whose factors are 1, of which the number is at least one; reads back as the same.
std::string with_unit(double number, std::span<const Unit> units);

/// "-1us", "1.5ms": the time in the largest unit, up to seconds, that leaves a digit in front of the point.
std::string text_of(std::chrono::nanoseconds time);

}  // namespace pydoca::detail
