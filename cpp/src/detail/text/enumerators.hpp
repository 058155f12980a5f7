#pragma once

#include "pydoca/status.hpp"

#include "detail/concat.hpp"

#include <cstddef>
#include <string_view>

/// Enumerators that programs give: a cast makes one of any number.
namespace pydoca::detail {

/// Whether the enumeration, from 0 to last, has it.
template <class Enum>
constexpr bool is_one_of(Enum value, Enum last) noexcept {
  return value <= last;
}

/// Throws invalid_value unless the enumeration has it. noun: "kind of task".
template <class Enum>
void require_one_of(std::string_view what, Enum value, Enum last, std::string_view noun) {
  if (!is_one_of(value, last)) {
    throw Error(Status::invalid_value, concat(what, ": ", static_cast<std::size_t>(value), " is not a ", noun,
                                              "; give one of its enumerators"));
  }
}

}  // namespace pydoca::detail
