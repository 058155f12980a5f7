#pragma once

#include <pybind11/pybind11.h>

namespace pydoca::bindings {

/// Stands for the event loop that runs in this thread: the same object as long as that loop runs, and another one for
/// every other loop, as long as the caller has a reference to it. Null, without an error, when none is found.
pybind11::object running_loop_mark();

}  // namespace pydoca::bindings
