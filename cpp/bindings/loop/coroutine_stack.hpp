#pragma once

#include "convert/pybind.hpp"

namespace pydoca::bindings {

/// A Python frame.
using Frame = py::object;

/// The frame that called this one; null for the first of its thread.
Frame caller_of(const Frame& frame);
py::object code_of(const Frame& frame);

/// The frame that runs the present coroutine: the caller of the outermost of the coroutines that await one another.
/// Null when there is none, or when one of them does not await the next but calls it, by send() or as a task that
/// starts eagerly: then that one would continue first.
Frame driver_of_this_coroutine();

}  // namespace pydoca::bindings
