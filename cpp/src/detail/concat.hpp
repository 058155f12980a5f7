/// Builds messages out of strings and numbers: concat("port ", 7, " is ", Status::in_use).
#pragma once

#include <pydoca/status.hpp>

#include <charconv>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace pydoca::detail {

/// A number to be written as 0x..., in lower case and without leading zeros.
struct Hex {
  std::uint64_t value;
};

template <std::integral T>
constexpr Hex hex(T value) noexcept {
  return {static_cast<std::uint64_t>(value)};
}

inline Hex hex(const void* address) noexcept { return {reinterpret_cast<std::uintptr_t>(address)}; }

inline void append(std::string& text, std::string_view piece) { text.append(piece); }
inline void append(std::string& text, char piece) { text.push_back(piece); }
inline void append(std::string& text, Status status) { text.append(error_name(status)); }

// Constrained, as a plain bool would also take every pointer.
template <std::same_as<bool> T>
void append(std::string& text, T value) {
  text.append(value ? "true" : "false");
}

template <class T>
concept Integer = std::integral<T> && !std::same_as<T, bool>;

template <Integer T>
void append(std::string& text, T value) {
  char digits[64];
  text.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

/// Appends as many digits as it takes to read the same number back, and no more.
void append(std::string& text, double value);

inline void append(std::string& text, Hex number) {
  char digits[18] = {'0', 'x'};
  text.append(digits, std::to_chars(digits + 2, digits + sizeof digits, number.value, 16).ptr);
}

template <class... Pieces>
[[nodiscard]] std::string concat(const Pieces&... pieces) {
  std::string text;
  (append(text, pieces), ...);
  return text;
}

/// "a, b, c".
template <class Names>
std::string listed(const Names& names) {
  std::string text;
  for (const auto& name : names) {
    text += text.empty() ? "" : ", ";
    text += name;
  }
  return text;
}

}  // namespace pydoca::detail
