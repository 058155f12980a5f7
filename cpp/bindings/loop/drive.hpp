/// How asyncio drives an awaitable object as if it were a coroutine. Each asyncio task has an await of its own, so
/// several may wait for one object.
#pragma once

#include "convert/pybind.hpp"

namespace pydoca::bindings {

/// Adds change to the number of asyncio tasks that drive the object.
using CountDrivers = void(PyObject* driven, int change) noexcept;

/// The drive of the asyncio task that runs now, begun at its first step. Its attribute awaiter is the await; None: it
/// is over. The asyncio task keeps the drive as an attribute for as long as it lives. is_driven: whether any asyncio
/// task may drive the object already. count may be null. Throws TypeError when no asyncio task was made of the object.
py::object drive_of(PyObject* driven, bool is_driven, CountDrivers* count);

/// What drive_of() gives for an object of one class.
using DriveOf = py::object(PyObject* driven);

/// The next step of the await of the drive that get_drive(driven) gives; for am_send of a type. It raises no
/// StopIteration, which costs more than the step.
PySendResult send_to_drive(DriveOf* get_drive, PyObject* driven, PyObject* value, PyObject** result) noexcept;

/// Gives base, and all classes of the module that derive from it, this am_send, which CPython does not inherit.
void set_drive_slot(const py::module_& module, const py::type& base, sendfunc send);

}  // namespace pydoca::bindings
