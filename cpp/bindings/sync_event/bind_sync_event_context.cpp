#include <pydoca/sync_event_context.hpp>

#include "call/keywords.hpp"
#include "call/raw_method.hpp"
#include "convert/bindings.hpp"
#include "convert/convert.hpp"
#include "convert/parse.hpp"
#include "sync_event/sync_event_context_object.hpp"
#include "sync_event/sync_event_object.hpp"
#include "task/library_task.hpp"

#include <array>
#include <memory>
#include <utility>

namespace pydoca::bindings {

namespace {

constexpr std::array get_names{"user_data", "submit"};
constexpr std::array notify_names{"value", "user_data", "submit"};
constexpr std::array wait_names{"value", "mask", "user_data", "submit"};

PyObject* take_task(PyObject* self, const SyncEventRequest& request) {
  const auto new_slot = [&](SyncEventContextObject& context) -> SyncEventTask& { return context.new_slot(request); };
  const auto kind = static_cast<std::size_t>(request.operation);
  return make_task<SyncEventTaskObject, SyncEventContextObject>(self, kind, request, request.user_data, request.submit,
                                                                new_slot)
      .release()
      .ptr();
}

PyObject* get_task(PyObject* self, PyObject* const* args, Py_ssize_t num_args, PyObject* keywords) {
  static constexpr Parameters parameters{"get", get_names, 0, 0};
  return guarded([&] {
    const auto [user_data, submit] = arguments<2>(parameters, args, num_args, keywords);
    return take_task(self, {.operation = SyncEventOperation::get, .user_data = user_data, .submit = is_true(submit)});
  });
}

template <SyncEventOperation operation>
PyObject* notify(PyObject* self, PyObject* const* args, Py_ssize_t num_args, PyObject* keywords) {
  static constexpr Parameters parameters{operation == SyncEventOperation::notify_set ? "notify_set" : "notify_add",
                                         notify_names, 1, 1};
  return guarded([&] {
    const auto [value, user_data, submit] = arguments<3>(parameters, args, num_args, keywords);
    return take_task(
        self,
        {.operation = operation, .operand = to_u64(value, "value"), .user_data = user_data, .submit = is_true(submit)});
  });
}

template <SyncEventOperation operation>
PyObject* wait_task(PyObject* self, PyObject* const* args, Py_ssize_t num_args, PyObject* keywords) {
  static constexpr Parameters parameters{operation == SyncEventOperation::wait_eq ? "wait_eq" : "wait_neq", wait_names,
                                         1, 2};
  return guarded([&] {
    const auto [value, mask, user_data, submit] = arguments<4>(parameters, args, num_args, keywords);
    SyncEventRequest request{.operation = operation,
                             .operand = to_u64(value, "value"),
                             .number = value,
                             .user_data = user_data,
                             .submit = is_true(submit)};
    if (mask != nullptr) request.mask = to_u64(mask, "mask");
    return take_task(self, request);
  });
}

std::span<PyMethodDef> context_operations() {
  static std::array methods{
      raw_method("get", &get_task,
                 "get($self, /, *, user_data=None, submit=True)\n--\n\n"
                 "Allocates a task whose result is the value, and submits it unless submit is false. Raises\n"
                 "NoMemoryError when all tasks of the kind are allocated, BadStateError unless the context runs\n"
                 "(doca_sync_event_task_get)."),
      raw_method("notify_set", &notify<SyncEventOperation::notify_set>,
                 "notify_set($self, /, value, *, user_data=None, submit=True)\n--\n\n"
                 "Allocates a task that stores value, 0..2**64-1 (InvalidValueError); its result is None. Submits and\n"
                 "raises as get() does (doca_sync_event_task_notify_set)."),
      raw_method("notify_add", &notify<SyncEventOperation::notify_add>,
                 "notify_add($self, /, value, *, user_data=None, submit=True)\n--\n\n"
                 "Allocates a task that adds value atomically, modulo 2**64; its result is the value before. Submits\n"
                 "and raises as get() does (doca_sync_event_task_notify_add)."),
      raw_method(
          "wait_eq", &wait_task<SyncEventOperation::wait_eq>,
          "wait_eq($self, /, value, mask=18446744073709551615, *, user_data=None, submit=True)\n--\n\n"
          "Allocates a task that completes when (the event's value & mask) == value; its result is the value\n"
          "that ended the wait. mask: 0, or 1, 2, 4 or 8 adjacent bytes of 0xFF (InvalidValueError). Cancelling\n"
          "its await takes effect at once. When no other await waits for the task, cancelling also ends it with\n"
          "ShutdownError. Submits and raises as get() does, and raises NotSupportedError on devices without\n"
          "wait tasks (doca_sync_event_task_wait_eq)."),
      raw_method("wait_neq", &wait_task<SyncEventOperation::wait_neq>,
                 "wait_neq($self, /, value, mask=18446744073709551615, *, user_data=None, submit=True)\n--\n\nWaits as "
                 "wait_eq() does, until (the event's value & mask) != value (doca_sync_event_task_wait_neq)."),
  };
  return methods;
}

void bind_event_task(py::module_& module) {
  py::classh<SyncEventTaskObject, TaskObject>(
      module, "SyncEventTask",
      "One operation on a sync event in its asynchronous mode. The result is the value (get), the value\n"
      "before (notify_add), the value that ended the wait (wait_eq, wait_neq) or None (notify_set).")
      .def_property_readonly(
          "operation", [](const SyncEventTaskObject& self) { return to_str(name_of(self.operation())); },
          "The name of its kind in num_tasks: get, notify_set, ..., wait_neq.")
      .def("cancel", &SyncEventTaskObject::cancel,
           "Ends a wait in flight: the engine's next progress completes it with SHUTDOWN. Raises BadStateError\n"
           "for any other task.")
      .def_property(
          "operand", &SyncEventTaskObject::operand,
          [](SyncEventTaskObject& self, const py::object& value) { self.set_operand(to_u64(value, "operand")); },
          "The number to store, to add or to wait for. Setting it, for another submission, raises InUseError in "
          "flight.")
      .def_property(
          "mask", &SyncEventTaskObject::mask,
          [](SyncEventTaskObject& self, const py::object& mask) { self.set_mask(to_u64(mask, "mask")); },
          "Of a wait: the bits to compare, 1, 2, 4 or 8 adjacent bytes of 0xFF, or 0 for all. Setting it raises "
          "InUseError in flight.");
}

void bind_as_context(py::module_& module) {
  const auto as_context = [](py::object self, py::object pe, const py::object& num_tasks, const py::kwargs& options) {
    return std::make_unique<SyncEventContextObject>(std::move(pe), std::move(self), num_tasks,
                                                    ContextOptions::of(options));
  };
  const std::string doc =
      signature({"pe, num_tasks=32, *", ContextOptions::keywords},
                "The event in its asynchronous mode, which is fixed for life. num_tasks: the number of tasks of every\n"
                "kind that the device has, or a dict for some kinds, such as {\"wait_eq\": 100}. Raises BadStateError\n"
                "after start(), NotPermittedError at the second call, NotSupportedError for kinds that the device\n"
                "lacks (doca_sync_event_as_ctx).");
  py::reinterpret_borrow<py::classh<SyncEventObject>>(module.attr("SyncEvent"))
      .def("as_context", as_context, "pe"_a, "num_tasks"_a = 32, doc.c_str());
}

}  // namespace

void bind_sync_event_context(py::module_& module) {
  bind_event_task(module);
  py::classh<SyncEventContextObject, ContextObject> type(
      module, "SyncEventContext",
      "A sync event whose operations are tasks. A wait fails when a process at the other end is gone, or\n"
      "the owner has stopped the event; the context stays running.");
  add_methods(type, context_operations());
  type.def_property_readonly("event", &SyncEventContextObject::event_ref, "The SyncEvent of the context.")
      .def_static(
          "is_supported",
          [](const DeviceInfo& info, const std::string& operation) {
            return SyncEventContext::is_supported(info, to_operation(operation));
          },
          "info"_a, "operation"_a, "Whether the device has tasks of this kind (get, notify_set, ..., wait_neq).")
      .def_static("max_num_tasks", &SyncEventContext::max_num_tasks, "info"_a, "The largest num_tasks, of each kind.");
  bind_as_context(module);
}

}  // namespace pydoca::bindings
