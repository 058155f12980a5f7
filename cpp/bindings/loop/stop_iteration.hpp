#pragma once

#include <pybind11/pybind11.h>

namespace pydoca::bindings {

/// Ends an iteration with value, as Python's error: a StopIteration from spare ones, at half the cost of a new one. It
/// has the value, but no args.
void set_stop_iteration(const pybind11::object& value) noexcept;

}  // namespace pydoca::bindings
