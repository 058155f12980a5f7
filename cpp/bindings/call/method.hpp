/// The methods that pybind11 makes, as Python shows its own: with name, __qualname__ and inspect.signature(), and
/// Python's TypeErrors for arguments that do not fit.
#pragma once

#include <pybind11/pybind11.h>

namespace pydoca::bindings {

/// Replaces the functions and methods of the module and its classes. Once, when all of them are bound.
void present_methods(pybind11::module_& module);

}  // namespace pydoca::bindings
