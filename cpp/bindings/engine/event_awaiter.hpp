#pragma once

#include "convert/pybind.hpp"

namespace pydoca::bindings {

/// Makes instances of the class, whose C++ objects are Awaitables, awaitable. What comes within the budget of the
/// loop's turn is taken without a suspension; for the rest the bridge's coroutine waits.
void set_event_await_slot(PyHeapTypeObject* type);

}  // namespace pydoca::bindings
