#pragma once

#include <pybind11/pybind11.h>

namespace pydoca::bindings {

/// Makes instances of the class, whose C++ objects are TaskObjects, awaitable. What completes within the budget of the
/// loop's turn needs no call of Python's; only what takes longer suspends, in the bridge's coroutine.
void set_await_slot(PyHeapTypeObject* type);

}  // namespace pydoca::bindings
