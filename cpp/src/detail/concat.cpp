#include "detail/concat.hpp"

#include <limits>
#include <locale>
#include <sstream>

namespace pydoca::detail {
namespace {

std::string written(double value, int precision) {
  std::ostringstream text;
  text.imbue(std::locale::classic());
  text.precision(precision);
  text << value;
  return std::move(text).str();
}

bool reads_back(const std::string& text, double value) {
  std::istringstream source(text);
  source.imbue(std::locale::classic());
  double number = 0.0;
  source >> number;
  return number == value;
}

}  // namespace

// Not std::to_chars: with it a wheel, which has its own copy, would carry 120 kB of tables.
void append(std::string& text, double value) {
  int precision = std::numeric_limits<double>::digits10;
  std::string digits = written(value, precision);
  while (precision < std::numeric_limits<double>::max_digits10 && !reads_back(digits, value)) {
    digits = written(value, ++precision);
  }
  text.append(digits);
}

}  // namespace pydoca::detail
