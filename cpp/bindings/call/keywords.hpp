/// Constructors with many keywords take them as py::kwargs. Their doc begins with the whole signature;
/// present_methods() reads from it the names that it checks and shows.
#pragma once

#include "convert/convert.hpp"
#include "convert/parse.hpp"

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

/// The keyword num_tasks: an int for every kind of task that the device has, or a dict for some kinds by name.
/// kind_of(name) is the kind of that name; configure(kind, count) configures it.
template <class Kinds, class IsSupported, class KindOf, class Configure>
void each_num_tasks(py::handle num_tasks, const Kinds& kinds, const IsSupported& is_supported, const KindOf& kind_of,
                    const Configure& configure) {
  if (py::isinstance<py::dict>(num_tasks)) {
    for (const auto& [name, count] : py::reinterpret_borrow<py::dict>(num_tasks)) {
      if (!py::isinstance<py::str>(name)) {
        throw py::type_error(format_text("num_tasks: {!r} is not the name of a task", name));
      }
      configure(kind_of(to_utf8(name)), count);
    }
  } else {
    for (const auto kind : kinds) {
      if (is_supported(kind)) configure(kind, num_tasks);
    }
  }
}

}  // namespace pydoca::bindings
