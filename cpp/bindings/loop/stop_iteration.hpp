#pragma once

#include "convert/pybind.hpp"

namespace pydoca::bindings {

/// Sets the Python error StopIteration with value, which ends an iteration.
void set_new_stop_iteration(const py::object& value) noexcept;

/// The same for an await, which drops the exception. Reuses idle exception objects, at half the cost of a new one. The
/// exception is of a subclass, and has the value but no args; while exceptions are traced, it is a new StopIteration.
void set_stop_iteration(const py::object& value) noexcept;

}  // namespace pydoca::bindings
