/// Constructors with many keywords take them as py::kwargs. Their doc begins with the whole signature;
/// present_methods() reads from it the names that it checks and shows.
#pragma once

#include "convert/convert.hpp"

#include <initializer_list>
#include <string>
#include <string_view>

namespace pydoca::bindings {

/// Joins the parts of a signature, without self, into the beginning of a doc.
inline std::string signature(std::initializer_list<std::string_view> parts, std::string_view doc = "") {
  std::string text = "(";
  for (const std::string_view part : parts) text.append(text.size() == 1 ? "" : ", ").append(part);
  return text.append(")\n--\n\n").append(doc);
}

/// The keyword's value; None when the caller did not give it.
inline py::object keyword(const py::kwargs& keywords, const char* name) {
  return keywords.contains(name) ? py::object(keywords[name]) : py::none();
}

/// The same for a callback. Throws TypeError, with the keyword's name, unless it is None or callable.
inline py::object callback(const py::kwargs& keywords, const char* name) {
  py::object given = keyword(keywords, name);
  require_callback(given, name);
  return given;
}

}  // namespace pydoca::bindings
