#include <pydoca/task.hpp>

#include "call/raw_method.hpp"
#include "convert/bindings.hpp"
#include "convert/collectable.hpp"
#include "convert/convert.hpp"
#include "convert/parse.hpp"
#include "task/library_task.hpp"
#include "task/task_awaiter.hpp"
#include "task/task_object.hpp"

#include <pybind11/native_enum.h>
#include <pybind11/stl.h>

#include <array>

namespace pydoca::bindings {

namespace py = pybind11;
using namespace py::literals;

namespace {

void bind_task_state(py::module_& module) {
  py::native_enum<Task::State>(module, "TaskState", "enum.IntEnum", "Who has a task.")
      .value("FREE", Task::State::free)
      .value("IDLE", Task::State::idle)
      .value("SUBMITTED", Task::State::submitted)
      .finalize();
}

SubmitFlags to_submit_flags(PyObject* flags) {
  if (flags == nullptr) {
    return SubmitFlags::flush;
  }
  try {
    return py::handle(flags).cast<SubmitFlags>();
  } catch (const py::cast_error&) {
    refuse_type("flags", "a pydoca.SubmitFlags", flags);
  }
}

template <bool checked>
PyObject* submit(PyObject* self, PyObject* const* args, Py_ssize_t num_args, PyObject* keywords) {
  static constexpr std::array names{"flags"};
  static constexpr Parameters parameters{checked ? "try_submit" : "submit", names, 0, 1};
  return guarded([&] {
    const auto [flags] = arguments<1>(parameters, args, num_args, keywords);
    object_of<TaskObject>(self).submit(to_submit_flags(flags), checked);
    return Py_NewRef(Py_None);
  });
}

std::span<PyMethodDef> submissions() {
  static std::array methods{
      raw_method(
          "submit", &submit<false>,
          "submit($self, /, flags=pydoca.SubmitFlags.FLUSH)\n--\n\nHands the task over without a look at its "
          "fields: a fault in them fails it later, and stops its context.\nRaises BadStateError unless the context "
          "runs and the task is idle, AgainError when the queue is full."),
      raw_method("try_submit", &submit<true>,
                 "try_submit($self, /, flags=pydoca.SubmitFlags.FLUSH)\n--\n\nHands the task over as "
                 "submit() does, but raises InvalidValueError for what would fail in the device."),
  };
  return methods;
}

template <typename Class>
void bind_submission(Class& type) {
  type.def("free", &TaskObject::free,
           "Gives the slot back to the context. Raises InUseError in flight, BadStateError when freed already.")
      .def("wait", &TaskObject::wait, "timeout"_a = py::none(),
           "Progresses until the task has completed, and returns what result() does. timeout in seconds, None for no "
           "limit; raises TimeOutError, the\n"
           "task's own error, and what callbacks raised meanwhile (an ExceptionGroup).")
      .def("result", &TaskObject::result,
           "The value of the last completion (None for most), or raises its error; InProgressError before the first.")
      .def("add_done_callback", &TaskObject::add_done_callback, "fn"_a,
           "Has fn(task) called by the next completion, once; at once when the task is done.")
      .def("remove_done_callback", &TaskObject::remove_done_callback, "fn"_a,
           "Takes fn back; returns how many times it was there.");
}

template <typename Class>
void bind_task_properties(Class& type) {
  const auto set_user_data = [](TaskObject& self, py::object data) { self.set_user_data(std::move(data)); };
  type.def_property_readonly(
          "status", [](const TaskObject& self) { return to_status(self.status()); },
          "Of the last completion; IN_PROGRESS while in flight.")
      .def_property_readonly("state", &TaskObject::state, "FREE once freed, or once its context has stopped.")
      .def_property_readonly("done", &TaskObject::done, "Whether it has completed, and is not in flight again.")
      .def_property("user_data", &TaskObject::user_data, set_user_data, "Anything; handed to the callbacks.")
      .def_property_readonly("context", &TaskObject::context_ref, "The Context whose task it is.")
      .def_property_readonly("_engine", [](const TaskObject& self) { return self.context().engine_ref(); })
      .def_property_readonly("_completions", &TaskObject::completions)
      .def_property_readonly("_value", &TaskObject::value)
      .def_property_readonly("_lends_memory", &TaskObject::lends_memory)
      .def("_abandon", &TaskObject::abandon, "Nobody may see the outcome, and that is as wanted.")
      .def("_outcome", &TaskObject::outcome, "The error of the last completion, or None.")
      .def(
          "_exception_of",
          [](TaskObject& self, std::uint32_t status) { return self.exception_of(static_cast<Status>(status)); },
          "status"_a)
      .def("_quarantine", &TaskObject::quarantine)
      .def("_require_submitted", &TaskObject::require_submitted, "what"_a)
      .def(
          "_add_waiter", [](TaskObject& self, py::object future) { self.waiters().add(std::move(future)); }, "future"_a)
      .def(
          "_discard_waiter", [](TaskObject& self, const py::object& future) { self.waiters().discard(future); },
          "future"_a);
}

/// Binds the operands that tasks of several libraries have, by DOCA's names.
void bind_library_task(py::module_& module) {
  py::classh<LibraryTaskObject, TaskObject> type(module, "LibraryTask", "A task that works on bufs.");
  const auto buf = [&](const char* name, py::object Operands::* which, Operand operand, const char* doc) {
    type.def_property(
        name, [which](const LibraryTaskObject& self) { return self.operands().*which; },
        [which, operand](LibraryTaskObject& self, py::object value) { self.set_buf(which, operand, std::move(value)); },
        doc);
  };
  buf("src", &Operands::src, Operand::src,
      "The Buf whose data goes; None where the kind has none, and once the task is freed. Setting raises InUseError in "
      "flight.");
  buf("dst", &Operands::dst, Operand::dst,
      "The Buf that is filled, or that an atomic changes; None where the kind has none, and once the task is freed.\n"
      "Setting raises InUseError in flight.");
}

std::string task_repr(const TaskObject& task) {
  const char* const state = task.in_flight() ? "in flight" : task.done() ? "done" : "not submitted";
  return "<pydoca task: " + task.describe() + ", " + state + ">";
}

void set_task_slots(PyHeapTypeObject* type) {
  collectable<TaskObject>().value(type);
  set_await_slot(type);
  type->ht_type.tp_dealloc = &TaskObject::dealloc;
}

}  // namespace

void bind_task(py::module_& module) {
  bind_task_state(module);
  py::classh<TaskObject> type(
      module, "Task",
      "A unit of work for a device: awaitable, or waited for without a loop, and reusable.\n"
      "While the device has it, it and its bufs are kept alive, whatever is dropped.\n"
      "await waits for the completion: its value, or the task's error. When cancelled, "
      "CancelledError comes once the device\n"
      "has let go of the memory. After the engine's drain_timeout, or a second cancel, the task "
      "is given up instead: its\nmemory stays in quarantine (BufferInUseError) and its context "
      "is faulted.",
      py::custom_type_setup(set_task_slots));
  bind_submission(type);
  add_methods(type, submissions());
  bind_task_properties(type);
  type.def("__repr__", task_repr);
  bind_library_task(module);
}

}  // namespace pydoca::bindings
