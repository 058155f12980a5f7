/// The awaits of several tasks: of all of them, and of each as it completes. What comes within the budget of the loop's
/// turn suspends nothing; one future waits for the rest.
#pragma once

#include "convert/pybind.hpp"

namespace pydoca::bindings {

/// A coroutine: the list of all tasks, once they have completed; raises the first error in the order of the tasks.
/// engine is a ProgressEngine. Throws as WatchedTasks does.
py::object gather_tasks(const py::object& engine, py::handle tasks);
/// An asynchronous iterator over the tasks in the order of their completion. Throws as WatchedTasks does.
py::object tasks_as_completed(const py::object& engine, py::handle tasks);

}  // namespace pydoca::bindings
