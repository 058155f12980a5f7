#pragma once

#include "convert/pybind.hpp"

#include <functional>

namespace pydoca::bindings {

/// Returns a function that binds read-only properties. Their values come from the engine's object that path gives for
/// the Python object: read(name, member, doc).
template <class Class, class Path>
auto reader(Class& type, Path path) {
  return [&type, path](const char* name, auto member, const char* doc) {
    type.def_property_readonly(
        name, [path, member](const Class::type& self) { return std::invoke(member, std::invoke(path, self)); }, doc);
  };
}

}  // namespace pydoca::bindings
