#pragma once

#include <pybind11/pybind11.h>

namespace pydoca::bindings {

/// A frame of Python's.
using Frame = pybind11::object;

/// What called this one; null for the first of its thread.
Frame caller_of(const Frame& frame);
pybind11::object code_of(const Frame& frame);

/// The frame that runs the present coroutine: the caller of the outermost of those that await one another. Null when
/// there is none, or when a coroutine among them does not await the next one but calls it - by send(), or as a task
/// that starts eagerly - and would go on first.
Frame driver_of_this_coroutine();

}  // namespace pydoca::bindings
