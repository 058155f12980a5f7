/// What the package gives the extension, which imports no module of Python's: pydoca._augment attaches it.
#pragma once

#include <pybind11/pybind11.h>

namespace pydoca::bindings {

/// The object that was attached by that name. Throws RuntimeError when the package was not imported as a whole.
[[nodiscard]] const pybind11::object& from_python(const char* name);

/// Module pydoca._aio, imported on the first call: a program that never awaits does without asyncio.
[[nodiscard]] pybind11::object bridge_module();

/// Hands the engine's log records to logging; for the end of control-path calls and blocking calls.
void drain_log();

}  // namespace pydoca::bindings
