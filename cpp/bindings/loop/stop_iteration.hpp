#pragma once

#include "convert/pybind.hpp"

namespace pydoca::bindings {

/// Sets the Python error StopIteration with value, which ends an iteration. Reuses idle exception objects, at half the
/// cost of a new one. The exception has the value, but no args.
void set_stop_iteration(const py::object& value) noexcept;

}  // namespace pydoca::bindings
