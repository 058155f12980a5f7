/// Makes pybind11's methods look like Python's own: they have a name, __qualname__ and inspect.signature(), and raise
/// Python's TypeErrors for arguments that do not fit.
#pragma once

#include "convert/pybind.hpp"

namespace pydoca::bindings {

/// Replaces the functions and methods of the module and its classes. Call it once, after all of them are bound.
void present_methods(py::module_& module);

}  // namespace pydoca::bindings
