/// Functions of the Python package that the extension calls. The extension imports no Python module by name;
/// pydoca._augment attaches these functions.
#pragma once

#include "convert/pybind.hpp"

namespace pydoca::bindings {

/// The object attached under that name. Throws RuntimeError when the pydoca package was not imported.
[[nodiscard]] const py::object& from_python(const char* name);

/// The module pydoca._aio.bridge, imported on the first call, so that a program without awaits does not import asyncio.
[[nodiscard]] py::object bridge_module();

/// Hands the engine's log records to Python's logging. Called at the end of control-path calls and blocking calls.
void drain_log();

/// The same soon, in the main thread, for code that must not run Python: the end of an object.
void drain_log_soon() noexcept;

}  // namespace pydoca::bindings
