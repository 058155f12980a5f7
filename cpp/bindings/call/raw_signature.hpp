/// Reads the signature of a raw method at compile time: its parameters stand once, in the text that Python shows.
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

consteval Shape shape_of(std::string_view signature) {
  Shape shape;
  bool positional = true;
  for (std::size_t end = signature.find('/') + 1; signature[end] == ',';) {
    const std::size_t place = end + 2;
    end = std::min(signature.find(',', place), signature.find(')', place));
    const std::string_view parameter = signature.substr(place, end - place);
    if (parameter == "*") {
      positional = false;
    } else {
      shape.places.at(shape.size++) = place;
      shape.num_required += parameter.find('=') == std::string_view::npos ? 1U : 0U;
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
