#include "sync_event/sync_event_context_object.hpp"

#include <pydoca/device_properties.hpp>

#include "call/keywords.hpp"
#include "convert/convert.hpp"
#include "convert/parse.hpp"
#include "sync_event/sync_event_object.hpp"

#include <array>
#include <string_view>
#include <utility>
#include <vector>

namespace pydoca::bindings {

namespace {

constexpr std::array operations{SyncEventOperation::get,        SyncEventOperation::notify_set,
                                SyncEventOperation::notify_add, SyncEventOperation::wait_gt,
                                SyncEventOperation::wait_eq,    SyncEventOperation::wait_neq};
static_assert(operations.size() == num_sync_event_operations && operations.size() <= ContextTasks::num_kinds);

std::string_view comparison(SyncEventOperation operation) {
  if (operation == SyncEventOperation::wait_gt) return ">";
  return operation == SyncEventOperation::wait_eq ? "==" : "!=";
}

std::string condition(const SyncEventRequest& request) {
  return bindings::condition(comparison(request.operation), request.operand, request.mask);
}

std::string no_waits(const DeviceInfo& info, const std::string& wanted) {
  return info.name() + " (" + info.properties().profile +
         ") has no wait tasks, which take a BlueField-3, a ConnectX-7 or newer; await poll_until(lambda value: " +
         wanted + ") uses get tasks instead";
}

void configure(SyncEventContext& context, SyncEventOperation operation, std::uint32_t num_tasks) {
  const DeviceInfo& info = context.device()->info();
  if (!SyncEventContext::is_supported(info, operation)) {
    raise(Status::not_supported, "num_tasks: " + std::string(name_of(operation)) + ": " + no_waits(info, "..."));
  }
  context.set_conf(operation, TaskObject::on_complete, TaskObject::on_complete, num_tasks);
}

std::shared_ptr<SyncEventContext> make_context(const py::object& event, const py::object& num_tasks) {
  std::shared_ptr<SyncEventContext> context = event.cast<SyncEventObject&>().event().as_context();
  const auto is_supported = [&](SyncEventOperation operation) {
    return SyncEventContext::is_supported(context->device()->info(), operation);
  };
  each_num_tasks(num_tasks, operations, is_supported, to_operation,
                 [&](SyncEventOperation operation, py::handle count) {
                   const std::string what = "num_tasks of " + std::string(name_of(operation));
                   const std::uint32_t most = SyncEventContext::max_num_tasks(context->device()->info());
                   configure(*context, operation, to_u32(count, what, 1, most));
                 });
  return context;
}

}  // namespace

SyncEventOperation to_operation(const std::string& name) { return to_kind(name, operations, "sync event task"); }

SyncEventTaskObject::SyncEventTaskObject(py::object context, SyncEventTask& slot)
    : TaskObject(std::move(context), slot, static_cast<std::size_t>(slot.operation())), operation_(slot.operation()) {}

void SyncEventTaskObject::prepare(const SyncEventRequest& request) noexcept {
  operand_ = request.operand;
  mask_ = is_wait() ? request.mask : 0;
  const bool is_known = operation_ == SyncEventOperation::wait_eq && mask_ == all_bits && request.number &&
                        PyLong_CheckExact(request.number.ptr()) != 0;
  awaited_ = is_known ? py::reinterpret_borrow<py::object>(request.number) : py::object();
}

void SyncEventTaskObject::set_operand(std::uint64_t value) {
  require_idle("set operand");
  operand_ = value;
  awaited_ = py::object();
}

void SyncEventTaskObject::set_mask(std::uint64_t mask) {
  require_idle("set mask");
  mask_ = mask;
  awaited_ = py::object();
}

void SyncEventTaskObject::set_operands() {
  static_cast<void>(event_slot().set_value(operand_));
  static_cast<void>(event_slot().set_mask(mask_));
}

void SyncEventTaskObject::abandon() {
  TaskObject::abandon();
  if (in_flight() && waiters().empty() && watches().empty()) {
    static_cast<void>(static_cast<SyncEventContext&>(event_slot().context()).cancel(event_slot()));
  }
}

void SyncEventTaskObject::cancel() {
  engine().require_thread("cancel " + describe());
  const Status status = in_flight() && is_wait()
                            ? static_cast<SyncEventContext&>(event_slot().context()).cancel(event_slot())
                            : Status::bad_state;
  if (status != Status::success) {
    raise(status, "cancel " + describe() + ": it is not a wait in flight");
  }
}

void SyncEventTaskObject::completed(Status status) {
  if (status == Status::success) result_ = event_slot().result();
}

py::object SyncEventTaskObject::value() const {
  if (operation_ == SyncEventOperation::notify_set) {
    return py::none();
  }
  if (awaited_) return awaited_;
  return to_python(result_);
}

std::string SyncEventTaskObject::describe() const {
  std::string name = "sync event " + std::string(name_of(operation_));
  if (operation_ == SyncEventOperation::get) return name;
  return is_wait() ? "sync event wait until " + condition({.operation = operation_, .operand = operand_, .mask = mask_})
                   : name + " " + std::to_string(operand_);
}

std::string SyncEventTaskObject::explain_late() const {
  if (!is_wait()) return {};
  const auto& owner = static_cast<const SyncEventContextObject&>(context());
  return "the event is on " + owner.event().place() + ", and " + owner.event().value_seen();
}

SyncEventContextObject::SyncEventContextObject(py::object engine, py::object event, const py::object& num_tasks,
                                               ContextOptions options)
    : ContextObject(std::move(engine), event.cast<SyncEventObject&>().device_ref(), make_context(event, num_tasks),
                    std::move(options)),
      event_ref_(std::move(event)) {
  this->event().set_context(this);
}

SyncEventContextObject::~SyncEventContextObject() { event().set_context(nullptr); }

SyncEventObject& SyncEventContextObject::event() const { return event_ref_.cast<SyncEventObject&>(); }

void SyncEventContextObject::closed() { event().closed_by_context(); }

void SyncEventContextObject::set_conf(const std::string& operation, py::object on_completion, py::object on_error,
                                      py::handle num_tasks) {
  const SyncEventOperation wanted = to_operation(operation);
  ContextObject::set_conf(static_cast<std::size_t>(wanted), {std::move(on_completion), std::move(on_error)}, num_tasks,
                          [&](std::uint32_t count) { configure(event_context(), wanted, count); });
}

SyncEventTask& SyncEventContextObject::new_slot(const SyncEventRequest& request) {
  SyncEventTask* slot = nullptr;
  const Status status = allocate_slot(
      [&] { return event_context().allocate(request.operation, request.operand, request.mask, 0, slot); });
  if (status != Status::success) {
    const DeviceInfo& info = context().device()->info();
    const std::string_view name = name_of(request.operation);
    if (!SyncEventContext::is_supported(info, request.operation)) {
      raise(Status::not_supported, "sync event " + std::string(name) + ": " + no_waits(info, condition(request)));
    }
    refuse_task(status, static_cast<std::size_t>(request.operation), name);
  }
  return *slot;
}

void SyncEventContextObject::each_reference(References& references) {
  references.keep(event_ref_);
  ContextObject::each_reference(references);
}

}  // namespace pydoca::bindings
