/// Calls of an engine that do for many tasks what a loop in Python would do one by one.
#pragma once

#include "convert/pybind.hpp"
#include "task/task_object.hpp"

namespace pydoca::bindings {

/// Submits the tasks, an iterable, in their order. Only the last one has flags' flush; where the next task is of
/// another context, so has the last one of its context. Returns the statuses: a task that is refused has its own, and
/// stays with the program; the others are submitted. Throws what TasksOfEngine and EngineObject::require_open() do,
/// before any submission.
py::object submit_many(EngineObject& engine, py::handle tasks, SubmitFlags flags);
/// The status of each, as Task::status has it; asks every task for its outcome. Throws as TasksOfEngine does.
py::object statuses_of(EngineObject& engine, py::handle tasks);

}  // namespace pydoca::bindings
