/// Reads the signature of a raw method at compile time: its parameters are written once, in the text that Python shows.
#pragma once

#include "call/parameters.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace pydoca::bindings {

/// Text as an argument of a template.
template <std::size_t length>
struct Text {
  std::array<char, length> chars{};

  consteval Text(const char (&literal)[length]) { std::copy_n(literal, length, chars.begin()); }  // implicit
  constexpr std::string_view view() const noexcept { return {chars.data(), length - 1}; }
};

/// The parameters in a signature: their places in its text, and how many the caller must or may give by position.
struct Shape {
  std::array<std::size_t, 8> places{};
  std::size_t size = 0;
  std::size_t num_required = 0;
  std::size_t num_positional = 0;
};

/// The index of the first of these characters at or after from. GCC 12 with sanitizers takes std::string_view::find()
/// in an argument of a template for a call that is not constant.
consteval std::size_t find_first(std::string_view text, std::string_view wanted, std::size_t from) {
  for (std::size_t i = from; i < text.size(); ++i) {
    for (const char one : wanted) {
      if (text[i] == one) return i;
    }
  }
  return text.size();
}

consteval Shape shape_of(std::string_view signature) {
  Shape shape;
  bool positional = true;
  for (std::size_t end = find_first(signature, "/", 0) + 1; signature[end] == ',';) {
    const std::size_t place = end + 2;
    end = find_first(signature, ",)", place);
    if (signature[place] == '*') {
      positional = false;
    } else {
      shape.places.at(shape.size++) = place;
      shape.num_required += find_first(signature, "=", place) > end ? 1U : 0U;
      shape.num_positional += positional ? 1U : 0U;
    }
  }
  return shape;
}

/// The parameters of a method by its signature, which Python shows: "wait($self, /, value, mask=0, *, timeout=None)".
template <Text text>
struct RawSignature {
  static constexpr Shape shape = shape_of(text.view());
  static constexpr std::size_t size = shape.size;
  /// The text with a NUL behind every name.
  static constexpr auto pieces = [] {
    auto chars = text.chars;
    for (char& one : chars) {
      if (std::string_view("(,=)").find(one) != std::string_view::npos) one = '\0';
    }
    return chars;
  }();
  static constexpr auto names = [] {
    std::array<const char*, size> found{};
    for (std::size_t i = 0; i < size; ++i) found[i] = pieces.data() + shape.places[i];
    return found;
  }();
  static constexpr Parameters parameters{pieces.data(), names, shape.num_required, shape.num_positional};
};

}  // namespace pydoca::bindings
