#pragma once

#include "convert/pybind.hpp"

namespace pydoca::bindings {

/// Makes every use of an object that __new__() made without __init__() a TypeError, for all classes of the module.
/// Without this, pybind11 would use raw memory as the C++ object. Also makes an object whose creation runs out of
/// memory end well; factories return shared pointers for that. Call it once, after all classes are bound.
void require_init(const py::module_& module);

}  // namespace pydoca::bindings
