#pragma once

#include <pybind11/pybind11.h>

namespace pydoca::bindings {

/// Gives a TypeError to whoever uses an object of the module's classes that __new__ made and __init__ never saw.
/// pybind11 would take raw memory for its C++ object. Call it once, when all classes are bound.
void require_init(const pybind11::module_& module);

}  // namespace pydoca::bindings
