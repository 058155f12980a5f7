#include "call/raw_method.hpp"
#include "convert/bindings.hpp"
#include "convert/parse.hpp"
#include "convert/python.hpp"
#include "engine/engine_object.hpp"
#include "gather/submit_many.hpp"
#include "gather/tasks_awaiter.hpp"

#include <array>
#include <span>

namespace pydoca::bindings {

namespace {

PyObject* gather(PyObject* self, const std::array<PyObject*, 2>& given) {
  const auto engine = py::reinterpret_borrow<py::object>(self);
  const auto [tasks, progress] = given;
  if (progress != nullptr && is_true(progress)) {
    return from_python("gather_with_progress")(engine, py::handle(tasks), py::handle(progress)).release().ptr();
  }
  return gather_tasks(engine, tasks).release().ptr();
}

PyObject* as_completed(PyObject* self, const std::array<PyObject*, 1>& tasks) {
  return tasks_as_completed(py::reinterpret_borrow<py::object>(self), tasks[0]).release().ptr();
}

PyObject* submit_all(PyObject* self, const std::array<PyObject*, 2>& given) {
  return submit_many(object_of<EngineObject>(self), given[0], to_submit_flags(given[1])).release().ptr();
}

PyObject* statuses(PyObject* self, const std::array<PyObject*, 1>& tasks) {
  return statuses_of(object_of<EngineObject>(self), tasks[0]).release().ptr();
}

std::span<PyMethodDef> methods() {
  static std::array methods{
      raw_method<"gather($self, /, tasks, *, progress=None)", &gather>(
          "Awaits all tasks and returns them as a list; raises the first failed one's error, when all have completed.\n"
          "\n"
          "progress: True shows tqdm's bar, in a terminal or a notebook; or a class like tqdm's; or a function\n"
          "(done, total)."),
      raw_method<"as_completed($self, /, tasks)", &as_completed>(
          "Iterates (async for) over the tasks in the order of their completion."),
      raw_method<"submit_many($self, /, tasks, flags=pydoca.SubmitFlags.FLUSH)", &submit_all>(
          "Submits tasks that were made with submit=False, in their order, as submit() does, and returns the status\n"
          "of each: a read-only array of int32, which numpy.asarray takes without a copy. A task that is refused has\n"
          "its status there, and stays as it was; the others are submitted. FLUSH posts all of them together, at the\n"
          "end; the other flags are each task's. Raises TypeError for an item that is not a Task, InvalidValueError\n"
          "for a task of another engine; none was submitted then. DOCA has no such call."),
      raw_method<"statuses($self, /, tasks)", &statuses>(
          "The status of each task, as its property status has it, and BAD_STATE for a task that was never submitted:\n"
          "a read-only array of int32."),
  };
  return methods;
}

}  // namespace

void bind_gather(py::module_& /*module*/) { add_methods(py::type::of<EngineObject>(), methods()); }

}  // namespace pydoca::bindings
