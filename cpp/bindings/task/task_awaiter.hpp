#pragma once

#include "convert/pybind.hpp"

namespace pydoca::bindings {

/// Makes instances of the class, whose C++ objects are TaskObjects, awaitable. A task that completes within the budget
/// of the loop's turn calls no Python code. A task that takes longer suspends, in the bridge's coroutine.
void set_await_slot(PyHeapTypeObject* type);

}  // namespace pydoca::bindings
