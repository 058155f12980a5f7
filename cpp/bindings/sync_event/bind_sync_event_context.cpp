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

template <SyncEventOperation operation>
using EventGiven = GivenOperands<TaskParameters<traits_of(operation)>::size>;

template <SyncEventOperation operation>
py::object take_task(PyObject* self, const EventGiven<operation>& operands, py::handle user_data, bool submit) {
  SyncEventRequest request{.operation = operation};
  if constexpr (std::tuple_size_v<EventGiven<operation>> > 0) {
    request.operand = operands[0].number;
    request.number = operands[0].given;
  }
  if constexpr (std::tuple_size_v<EventGiven<operation>> > 1) request.mask = operands[1].number;
  const auto new_slot = [&](SyncEventContextObject& context) -> SyncEventTask& { return context.new_slot(request); };
  return make_task<SyncEventTaskObject, SyncEventContextObject>(self, static_cast<std::size_t>(operation), request,
                                                                user_data, submit, new_slot);
}

template <SyncEventOperation operation>
PyMethodDef method(const char* doc) {
  return task_method<traits_of(operation), &take_task<operation>>(doc);
}

std::span<PyMethodDef> context_operations() {
  static std::array methods{
      method<SyncEventOperation::get>(
          "Allocates a task whose result is the value, and submits it unless submit is false. Raises\n"
          "NoMemoryError when all tasks of the kind are allocated, BadStateError unless the context runs\n"
          "(doca_sync_event_task_get)."),
      method<SyncEventOperation::notify_set>(
          "Allocates a task that stores value, 0..2**64-1 (InvalidValueError); its result is None. Submits and\n"
          "raises as get() does (doca_sync_event_task_notify_set)."),
      method<SyncEventOperation::notify_add>(
          "Allocates a task that adds value atomically, modulo 2**64; its result is the value before. Submits\n"
          "and raises as get() does (doca_sync_event_task_notify_add)."),
      method<SyncEventOperation::wait_eq>(
          "Allocates a task that completes when (the event's value & mask) == value; its result is the value\n"
          "that ended the wait. mask: 0, or 1, 2, 4 or 8 adjacent bytes of 0xFF (InvalidValueError). Cancelling\n"
          "its await takes effect at once. When no other await waits for the task, cancelling also ends it with\n"
          "ShutdownError. Submits and raises as get() does, and raises NotSupportedError on devices without\n"
          "wait tasks (doca_sync_event_task_wait_eq)."),
      method<SyncEventOperation::wait_neq>(
          "Waits as wait_eq() does, until (the event's value & mask) != value (doca_sync_event_task_wait_neq)."),
      method<SyncEventOperation::wait_gt>(
          "Waits as wait_eq() does, until (the event's value & mask) > value. DOCA up to 2.6 has this wait, and\n"
          "limits it: value is 0..254 (InvalidValueError), and an event whose masked value is above 254 ends it\n"
          "with IoFailedError, which stops the context (doca_sync_event_task_wait_gt)."),
  };
  return methods;
}

void bind_event_task(py::module_& module) {
  py::classh<SyncEventTaskObject, TaskObject>(
      module, "SyncEventTask",
      "One operation on a sync event in its asynchronous mode. The result is the value (get), the value\n"
      "before (notify_add), the value that ended the wait (wait_gt, wait_eq, wait_neq) or None (notify_set).")
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
  made_by(module, "SyncEventTask", "SyncEventContext.wait_eq() and its siblings");
}

/// The context that the event has. Its setters configure it, not another call.
py::object same_context(ContextObject& context, py::object pe, const py::object& num_tasks, const py::kwargs& options) {
  if (!num_tasks.is_none() || !options.empty()) {
    raise(Status::not_permitted,
          "as_context: the event has its context already; as_context() without arguments gives it, and its setters "
          "(set_conf) configure it");
  }
  if (!pe.is_none() && !pe.is(context.engine_ref())) context.connect(std::move(pe));
  return context.self();
}

py::object as_context(py::object self, py::object pe, const py::object& num_tasks, const py::kwargs& options) {
  if (ContextObject* const context = self.cast<SyncEventObject&>().context()) {
    return same_context(*context, std::move(pe), num_tasks, options);
  }
  constexpr std::uint32_t default_num_tasks = 32;
  const py::object count = num_tasks.is_none() ? py::int_(default_num_tasks) : num_tasks;
  return py::cast(
      std::make_shared<SyncEventContextObject>(std::move(pe), std::move(self), count, ContextOptions::of(options)));
}

void bind_as_context() {
  const std::string doc = signature(
      {"pe=None, num_tasks=None, *", ContextOptions::keywords},
      "The event in its asynchronous mode, which is fixed for life. The same object at every call; arguments\n"
      "are for the first one. pe=None: ProgressEngine.connect() connects it. num_tasks: the number of tasks\n"
      "of every kind that the device has, or a dict for some kinds, such as {\"wait_eq\": 100}; None: 32 of\n"
      "every kind. Raises BadStateError after start(), NotPermittedError for arguments at a later call,\n"
      "NotSupportedError for kinds that the device lacks (doca_sync_event_as_ctx).");
  bound_class<SyncEventObject>().def("as_context", &as_context, "pe"_a = py::none(), "num_tasks"_a = py::none(),
                                     doc.c_str());
}

void bind_conf(py::classh<SyncEventContextObject, ContextObject>& type) {
  type.def("set_conf", &SyncEventContextObject::set_conf, "operation"_a, "on_completion"_a = py::none(),
           "on_error"_a = py::none(), "num_tasks"_a = 32,
           "The number of tasks of this kind, and their callbacks, as as_context() has them for all kinds; what is\n"
           "left out is its default. Raises NotPermittedError unless IDLE, NotSupportedError for a kind that the\n"
           "device lacks, InvalidValueError (doca_sync_event_task_get_set_conf and its like).")
      .def(
          "num_tasks",
          [](const SyncEventContextObject& self, const std::string& operation) {
            return self.event_context().num_tasks(to_operation(operation));
          },
          "operation"_a, "The number of its tasks of this kind (get, notify_set, ..., wait_neq).");
}

}  // namespace

void bind_sync_event_context(py::module_& module) {
  bind_event_task(module);
  py::classh<SyncEventContextObject, ContextObject> type(
      module, "SyncEventContext",
      "A sync event whose operations are tasks. A wait fails when a process at the other end is gone, or\n"
      "the owner has stopped the event; the context stays running.");
  add_methods(type, context_operations());
  bind_conf(type);
  type.def_property_readonly("event", &SyncEventContextObject::event_ref, "The SyncEvent of the context.")
      .def_static(
          "is_supported",
          [](const DeviceInfo& info, const std::string& operation) {
            return SyncEventContext::is_supported(info, to_operation(operation));
          },
          "info"_a, "operation"_a, "Whether the device has tasks of this kind (get, notify_set, ..., wait_neq).")
      .def_static("max_num_tasks", &SyncEventContext::max_num_tasks, "info"_a, "The largest num_tasks, of each kind.");
  bind_as_context();
  made_by(module, "SyncEventContext", "SyncEvent.as_context()");
}

}  // namespace pydoca::bindings
