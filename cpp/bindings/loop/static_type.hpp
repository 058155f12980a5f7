#pragma once

#include "convert/pybind.hpp"

namespace pydoca::bindings {

/// The type of a plain struct whose objects CPython allocates and no program makes. The caller fills its other slots,
/// keeps it for good, and readies it.
PyTypeObject static_type(const char* name, Py_ssize_t size, destructor dealloc, unsigned long more_flags = 0);

/// Throws the Python error.
void ready(PyTypeObject& type);

}  // namespace pydoca::bindings
