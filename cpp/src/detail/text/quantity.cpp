#include "detail/text/quantity.hpp"

#include "detail/concat.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <locale>
#include <sstream>

namespace pydoca::detail {

namespace {

constexpr std::string_view spaces = " \t\n\r\f\v";
constexpr int furthest_exponent = 9999;

constexpr bool is_digit(char character) noexcept { return character >= '0' && character <= '9'; }

/// Takes the digits at the beginning of text.
std::string_view take_digits(std::string_view& text) {
  const auto end = std::ranges::find_if_not(text, is_digit);
  const std::string_view digits(text.begin(), end);
  text.remove_prefix(digits.size());
  return digits;
}

/// Takes e-3 from the beginning of text, if it is there.
int take_exponent(std::string_view& text) {
  if (text.empty() || (text.front() != 'e' && text.front() != 'E')) {
    return 0;
  }
  std::string_view rest = text.substr(1);
  const bool is_negative = rest.starts_with('-');
  if (is_negative || rest.starts_with('+')) {
    rest.remove_prefix(1);
  }
  const std::string_view digits = take_digits(rest);
  if (digits.empty()) {
    return 0;
  }
  int exponent = 0;
  const bool fits = std::from_chars(digits.data(), digits.data() + digits.size(), exponent).ec == std::errc();
  exponent = fits ? std::min(exponent, furthest_exponent) : furthest_exponent;
  text = rest;
  return is_negative ? -exponent : exponent;
}

/// A number as its significant digits, with the exponent of the last one.
struct Decimal {
  explicit Decimal(double number) {
    const std::string text = concat(number);
    std::string_view rest = text;
    is_negative = rest.starts_with('-');
    rest.remove_prefix(is_negative ? 1 : 0);
    digits = take_digits(rest);
    if (rest.starts_with('.')) {
      rest.remove_prefix(1);
      const std::string_view fraction = take_digits(rest);
      digits += fraction;
      exponent = -static_cast<int>(fraction.size());
    }
    exponent += take_exponent(rest);
    digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
    while (digits.ends_with('0')) {
      digits.pop_back();
      ++exponent;
    }
  }

  /// The power of ten of the first digit.
  int magnitude() const noexcept { return exponent + static_cast<int>(digits.size()) - 1; }

  /// Without an exponent, divided by 10^scale.
  std::string text(int scale) const {
    if (digits.empty()) {
      return "0";
    }
    const int point = static_cast<int>(digits.size()) + exponent - scale;  // digits in front of the point
    std::string text = is_negative ? "-" : "";
    if (point <= 0) {
      return text + "0." + std::string(static_cast<std::size_t>(-point), '0') + digits;
    }
    const auto whole = static_cast<std::size_t>(point);
    if (whole >= digits.size()) {
      return text + digits + std::string(whole - digits.size(), '0');
    }
    return text + digits.substr(0, whole) + '.' + digits.substr(whole);
  }

  bool is_negative = false;
  std::string digits;  ///< none for 0
  int exponent = 0;
};

}  // namespace

double Quantity::in(const Unit& of) const {
  std::istringstream source(concat(number, 'e', exponent + of.exponent));
  source.imbue(std::locale::classic());
  double value = 0;
  source >> value;
  return value * of.factor;
}

std::optional<Quantity> to_quantity(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(spaces), text.size()));
  text = text.substr(0, text.find_last_not_of(spaces) + 1);
  const std::string_view all = text;
  if (text.starts_with('-') || text.starts_with('+')) {
    text.remove_prefix(1);
  }
  std::size_t count = take_digits(text).size();
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    count += take_digits(text).size();
  }
  if (count == 0) {
    return std::nullopt;
  }
  Quantity quantity{.number = std::string(all.substr(0, all.size() - text.size())), .unit = {}};
  quantity.exponent = take_exponent(text);
  text.remove_prefix(std::min(text.find_first_not_of(spaces), text.size()));
  quantity.unit = text;
  return text.find_first_of(spaces) == std::string_view::npos ? std::optional(std::move(quantity)) : std::nullopt;
}

std::string with_unit(double number, std::span<const Unit> units) {
  const Decimal decimal(number);
  const auto smallest = std::ranges::min_element(units, {}, &Unit::exponent);
  auto best = smallest;
  for (auto unit = units.begin(); unit != units.end(); ++unit) {
    if (!decimal.digits.empty() && unit->exponent <= decimal.magnitude() && unit->exponent > best->exponent) {
      best = unit;
    }
  }
  return decimal.text(best->exponent).append(best->name);
}

std::string text_of(std::chrono::nanoseconds time) {
  static constexpr std::array units{Unit{"s", 9}, Unit{"ms", 6}, Unit{"us", 3}, Unit{"ns", 0}};
  return with_unit(static_cast<double>(time.count()), units);
}

}  // namespace pydoca::detail
