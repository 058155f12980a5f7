/// Makes pybind11's methods look like Python's own: they have a name, __qualname__ and inspect.signature(), and raise
/// Python's TypeErrors for arguments that do not fit.
#pragma once

#include "convert/pybind.hpp"

#include <string>

namespace pydoca::bindings {

/// Replaces the functions and methods of the module and its classes. Call it once, after all of them are bound.
void present_methods(py::module_& module);

/// Makes a class with its methods, or a function, a member of the public module of that name, for help(), tracebacks
/// and CPython's messages. The class or function stays where it is, and the caller gives it to that module.
void publish(const py::object& object, const std::string& module_name);

}  // namespace pydoca::bindings
