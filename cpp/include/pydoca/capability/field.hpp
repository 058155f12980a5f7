#pragma once

#pragma GCC visibility push(default)

namespace pydoca {

/// A field of a structure of capabilities, as data: properties, dictionaries, JSON and topology files have what
/// fields() of the structure lists.
template <class T, class Value>
struct Field {
  constexpr Field(const char* field, Value T::* place, const char* sentence) noexcept
      : name(field), member(place), says(sentence) {}

  const char* name;
  Value T::* member;
  const char* says;  ///< a sentence
};

}  // namespace pydoca

#pragma GCC visibility pop
