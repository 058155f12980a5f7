#include <pydoca/task.hpp>

#include "call/raw_method.hpp"
#include "convert/bindings.hpp"
#include "convert/collectable.hpp"
#include "convert/convert.hpp"
#include "convert/parse.hpp"
#include "loop/drive.hpp"
#include "task/library_task.hpp"
#include "task/task_awaiter.hpp"
#include "task/task_object.hpp"

#include <pybind11/native_enum.h>
#include <pybind11/stl.h>

#include <array>

namespace pydoca::bindings {

namespace {

void bind_task_state(py::module_& module) {
  py::native_enum<Task::State>(module, "TaskState", "enum.IntEnum",
                               "The state of a task: whether the program or the device has it.")
      .value("FREE", Task::State::free)
      .value("IDLE", Task::State::idle)
      .value("SUBMITTED", Task::State::submitted)
      .finalize();
}

template <bool checked>
void submit(PyObject* self, const std::array<PyObject*, 1>& flags) {
  object_of<TaskObject>(self).submit(to_submit_flags(flags[0]), checked);
}

PyObject* wait_for_task(PyObject* self, const std::array<PyObject*, 1>& timeout) {
  return object_of<TaskObject>(self).wait(to_seconds(timeout[0])).release().ptr();
}

std::span<PyMethodDef> frequent_methods() {
  static std::array methods{
      raw_method<"wait($self, /, timeout=None)", &wait_for_task>(
          "Progresses until the task has completed, and returns the value of result(). timeout in seconds, None\n"
          "for no limit. Raises TimeOutError, the task's own error, and the exceptions that callbacks raised\n"
          "meanwhile (an ExceptionGroup)."),
      raw_method<"submit($self, /, flags=pydoca.SubmitFlags.FLUSH)", &submit<false>>(
          "Submits the task without checking its fields: an error in them fails the task later, and stops its\n"
          "context. Raises BadStateError unless the context runs and the task is idle, AgainError when the\n"
          "queue is full."),
      raw_method<"try_submit($self, /, flags=pydoca.SubmitFlags.FLUSH)", &submit<true>>(
          "Submits the task as submit() does, after checking its fields: raises InvalidValueError for an error\n"
          "that would fail in the device."),
  };
  return methods;
}

template <typename Class>
void bind_submission(Class& type) {
  type.def("free", &TaskObject::free,
           "Gives the slot back to the context. In flight, while the context is STOPPING, this takes effect at\n"
           "completion, without a callback. Raises InUseError in flight otherwise, BadStateError when freed already\n"
           "(doca_task_free).")
      .def("result", &TaskObject::result,
           "The value of the last completion (None for most tasks). Raises the error of a failed one, BadStateError\n"
           "before the first submission, and InProgressError until its completion.")
      .def("add_done_callback", &TaskObject::add_done_callback, "fn"_a,
           "Calls fn(task) once: at the next completion, or at once when the task is done.")
      .def("remove_done_callback", &TaskObject::remove_done_callback, "fn"_a,
           "Removes fn from the callbacks; returns how many times it was there.");
}

py::object status_of(TaskObject& self) {
  self.mark_seen();
  return to_status(self.status());
}

/// For displays: unlike status_of(), does not count as asking for the outcome.
py::tuple snapshot_of(const TaskObject& self) {
  const std::string_view state = self.in_flight() ? "in flight" : self.done() ? "done" : "not submitted";
  const bool failed = self.done() && self.status() != Status::success;
  return py::make_tuple(self.describe(), state, to_status(self.status()), failed ? self.reason() : std::string(),
                        self.completions(), self.is_freed());
}

void count_driver(PyObject* task, int change) noexcept {
  if (is_whole(task)) static_cast<TaskObject*>(first_value(task))->count_driver(change);
}

py::object drive_of_task(PyObject* task) {
  return drive_of(task, object_of<TaskObject>(task).has_drivers(), &count_driver);
}

PySendResult send_to_task(PyObject* self, PyObject* value, PyObject** result) {
  return send_to_drive(drive_of_task, self, value, result);
}

template <typename Class>
void bind_task_properties(Class& type) {
  const auto set_user_data = [](TaskObject& self, py::object data) { self.set_user_data(std::move(data)); };
  type.def_property_readonly("status", status_of, "The status of the last completion; IN_PROGRESS while in flight.")
      .def_property_readonly("state", &TaskObject::state,
                             "The TaskState; FREE once it is freed, or its context has stopped.")
      .def_property_readonly("done", &TaskObject::done, "Whether it has completed, and is not in flight again.")
      .def_property("user_data", &TaskObject::user_data, set_user_data,
                    "Any object; the callbacks get it as an argument.")
      .def_property_readonly("context", &TaskObject::context_ref, "The Context that the task belongs to.")
      .def_property_readonly("_engine", [](const TaskObject& self) { return self.context().engine_ref(); })
      .def_property_readonly("_completions", &TaskObject::completions)
      .def_property_readonly("_value", &TaskObject::value)
      .def_property_readonly("_lends_memory", &TaskObject::lends_memory)
      .def("_abandon", &TaskObject::abandon,
           "Records that the caller does not want the outcome: a dropped task then needs no warning.")
      .def("_drive", [](const py::object& self) { return drive_of_task(self.ptr()); })
      .def("_outcome", &TaskObject::outcome, "The error of the last completion, or None.")
      .def(
          "_exception_of",
          [](TaskObject& self, std::uint32_t status) { return self.exception_of(static_cast<Status>(status)); },
          "status"_a)
      .def("_quarantine", &TaskObject::quarantine)
      .def("_require_submitted", &TaskObject::require_submitted, "what"_a)
      .def("_snapshot", &snapshot_of);
  bind_waiters(type);
}

/// Binds the operands that tasks of several libraries have, under DOCA's names.
void bind_library_task(py::module_& module) {
  py::classh<LibraryTaskObject, TaskObject> type(module, "LibraryTask", "A task that works on bufs.");
  bind_operand(type, source_and_target[0],
               "The Buf with the data. None when tasks of this kind have no src, and once the task is freed. Setting\n"
               "it raises InUseError in flight.");
  bind_operand(type, source_and_target[1],
               "The Buf to which the task appends, or that an atomic changes. None when tasks of this kind have no\n"
               "dst, and once the task is freed. Setting it raises InUseError in flight.");
}

/// The status, and the explanation without its advice.
std::string failure_of(const TaskObject& task) {
  const auto status = to_status(task.status()).attr("name").cast<std::string>();
  return "failed: " + status + " (" + task.reason().substr(0, task.reason().find(';')) + ")";
}

std::string task_repr(const TaskObject& task) {
  const std::string state = task.in_flight() ? "in flight" : task.done() ? "done" : "not submitted";
  const bool failed = task.done() && task.status() != Status::success;
  return "<pydoca task: " + task.describe() + ", " + (failed ? failure_of(task) : state) + ">";
}

void set_task_slots(PyHeapTypeObject* type) {
  collectable<TaskObject>().value(type);
  set_await_slot(type);
  type->ht_type.tp_dealloc = &TaskObject::dealloc;
}

}  // namespace

void bind_task_drives(const py::module_& module) { set_drive_slot(module, py::type::of<TaskObject>(), &send_to_task); }

void bind_task(py::module_& module) {
  bind_task_state(module);
  py::classh<TaskObject> type(
      module, "Task",
      "A unit of work for a device: await it, or wait() without an event loop; then submit it again. The\n"
      "task and its bufs live as long as the device has it, even when the program drops every reference.\n"
      "await returns the completion's value, or raises the task's error. A cancelled await raises\n"
      "CancelledError once the device has released the memory. After the engine's drain_timeout, or at a\n"
      "second cancellation, the task is given up instead: its memory stays in quarantine (BufferInUseError)\n"
      "and its context is faulted.",
      py::custom_type_setup(set_task_slots));
  bind_submission(type);
  add_methods(type, frequent_methods());
  bind_task_properties(type);
  type.def("__repr__", task_repr);
  bind_library_task(module);
}

}  // namespace pydoca::bindings
