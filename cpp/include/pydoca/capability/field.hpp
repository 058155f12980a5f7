#pragma once

namespace pydoca {

/// A field of a structure of capabilities, as data: properties, dictionaries, JSON and topology files have what
/// fields() of the structure lists.
template <class T, class Value>
struct Field {
  const char* name;
  Value T::* member;
  const char* says;  ///< a sentence
};

template <class T, class Value>
Field(const char*, Value T::*, const char*) -> Field<T, Value>;

}  // namespace pydoca
