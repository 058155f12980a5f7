#pragma once

#include "convert/pybind.hpp"

namespace pydoca::bindings {

/// Makes every use of an object that __new__() made without __init__() a TypeError, for all classes of the module.
/// Without this, pybind11 would use raw memory as the C++ object. Call it once, after all classes are bound.
void require_init(const py::module_& module);

}  // namespace pydoca::bindings
