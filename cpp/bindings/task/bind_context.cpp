#include <pydoca/context.hpp>

#include "call/reader.hpp"
#include "convert/bindings.hpp"
#include "convert/collectable.hpp"
#include "convert/convert.hpp"
#include "task/context_object.hpp"

#include <pybind11/native_enum.h>

namespace pydoca::bindings {

namespace {

void bind_context_state(py::module_& module) {
  py::native_enum<ContextState>(module, "ContextState", "enum.IntEnum", "The state of a context.")
      .value("IDLE", ContextState::idle)
      .value("STARTING", ContextState::starting)
      .value("RUNNING", ContextState::running)
      .value("STOPPING", ContextState::stopping)
      .finalize();
  py::classh<SettledState, Awaitable>(module, "SettledState",
                                      "The value of with: the context, once it is IDLE or RUNNING.",
                                      collectable<SettledState>());
}

template <typename Class>
void bind_context_life(Class& type) {
  type.def(
          "start", [](ContextObject& self) { return to_status(self.start()); },
          "SUCCESS: it is RUNNING. IN_PROGRESS: progress until it is RUNNING, or IDLE when the start failed. Raises\n"
          "NotConnectedError without a progress engine, BadStateError unless IDLE, InvalidValueError when nothing is\n"
          "configured (doca_ctx_start).")
      .def(
          "stop", [](ContextObject& self) { return to_status(self.stop()); },
          "SUCCESS: it is IDLE. IN_PROGRESS: it is STOPPING, because tasks are in flight or not freed; free them\n"
          "(free(), or drop every reference to them), and progress until it is IDLE. The end of a with block frees\n"
          "them (doca_ctx_stop).")
      .def("close", &ContextObject::close,
           "Closes the context for good; idempotent. Raises InUseError unless IDLE; an Rdma raises BadStateError.");
}

template <typename Class>
void bind_context_properties(Class& type) {
  const auto set_user_data = [](ContextObject& self, py::object data) { self.set_user_data(std::move(data)); };
  type.def_property(
          "on_state_changed", &ContextObject::on_state_changed, &ContextObject::set_on_state_changed,
          "Called with (user_data, context, previous, next) for each change of the state, or None. May be set\n"
          "in any state (doca_ctx_set_state_changed_cb).")
      .def_property_readonly(
          "failure", [](const ContextObject& self) { return to_status(self.context().failure()); },
          "The reason why it last stopped by itself; SUCCESS when it did not.")
      .def_property_readonly(
          "faulted", &ContextObject::is_faulted,
          "Whether a task was given up in flight while the device still used its memory. Submissions are then\n"
          "refused until the context was stopped and is IDLE.")
      .def("flush_tasks", &ContextObject::flush_tasks, "Posts the tasks that were submitted without FLUSH.")
      .def_property_readonly("device", &ContextObject::device_ref, "The Device of the context.")
      .def_property_readonly("progress_engine", &ContextObject::engine_ref,
                             "The ProgressEngine that completes its tasks; None until connected.")
      .def_property_readonly("closed", &ContextObject::is_closed, "Whether it is closed for good.")
      .def_property("user_data", &ContextObject::user_data, set_user_data,
                    "Any object; the callbacks get it as an argument.")
      .def_property_readonly("_kind", [](const ContextObject& self) { return std::string(self.context().kind()); })
      .def("_counts", [](const ContextObject& self) { return to_tuple(self.context().stats()); })
      .def("_snapshot", &ContextObject::snapshot, "max_tasks"_a)
      .def("_begin_leaving", &ContextObject::begin_leaving)
      .def("_settled", [](const py::object& self) { return std::make_shared<SettledState>(self); });
  const auto read = reader(type, &ContextObject::context);
  read("state", &Context::state, "The state: IDLE, STARTING, RUNNING or STOPPING.");
  read("num_inflight_tasks", &Context::num_inflight_tasks, "The number of tasks that are submitted and not completed.");
}

std::string context_repr(const ContextObject& self) {
  const Context& context = self.context();
  const py::object state = py::cast(context.state());
  std::string name = self.is_closed() ? "closed" : state.attr("name").cast<std::string>();
  if (context.state() == ContextState::stopping) {
    name += ": " + std::to_string(context.num_inflight_tasks()) + " task(s) in flight, " +
            std::to_string(context.num_allocated_tasks() - context.num_inflight_tasks()) + " to free";
  }
  return "<pydoca " + std::string(self.context().kind()) + " context on " + self.context().device()->info().name() +
         ", " + name + (self.is_faulted() ? ", faulted>" : ">");
}

}  // namespace

void bind_context(py::module_& module) {
  bind_context_state(module);
  py::classh<ContextObject> type(
      module, "Context",
      "A library's object on a device: its constructor configures it; start it, use it, stop it. While it is IDLE,\n"
      "before the first start and after a stop, its setters configure it anew. With pe=None it has no engine until\n"
      "ProgressEngine.connect(). Belongs to the thread of its progress engine. Use it in a with or async with\n"
      "block.",
      collectable<ContextObject>());
  bind_context_life(type);
  bind_context_properties(type);
  type.def("__repr__", context_repr);
}

}  // namespace pydoca::bindings
