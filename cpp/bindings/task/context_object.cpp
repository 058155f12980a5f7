#include "task/context_object.hpp"

#include "call/keywords.hpp"
#include "convert/convert.hpp"
#include "convert/parse.hpp"
#include "convert/python.hpp"
#include "device/device_object.hpp"

#include <utility>

namespace pydoca::bindings {

ContextOptions ContextOptions::of(const py::kwargs& given) {
  return {callback(given, "on_completion"), callback(given, "on_error"), callback(given, "on_state_changed"),
          keyword(given, "user_data")};
}

ContextObject::ContextObject(py::object engine, py::object device, std::shared_ptr<Context> context,
                             ContextOptions options)
    : engine_ref_(py::none()),
      device_ref_(std::move(device)),
      context_(std::move(context)),
      on_state_changed_(std::move(options.on_state_changed)),
      user_data_(std::move(options.user_data)) {
  callbacks_.fill({std::move(options.on_completion), std::move(options.on_error)});
  if (!engine.is_none()) connect(std::move(engine));
  context_->set_user_data(reinterpret_cast<std::uintptr_t>(this));
  context_->set_state_changed(state_changed);
}

ContextObject::~ContextObject() {
  context_->set_state_changed(nullptr);
  tasks_.drop_free_list();
  if (is_connected()) engine_->remove_context(*this);
}

void ContextObject::connect(py::object engine) {
  EngineObject& wanted = to_engine(engine);
  wanted.require_open("connect " + std::string(context_->kind()));
  wanted.engine().connect(context_);
  engine_ref_ = std::move(engine);
  engine_ = &wanted;
  engine_->add_context(*this);
}

py::object ContextObject::self() {
  if (!self_) self_ = py::cast(this);
  return py::reinterpret_borrow<py::object>(self_);
}

void ContextObject::require_open(std::string_view what) const {
  require_thread(std::string(what) + " " + std::string(context_->kind()));
}

void ContextObject::require_configurable(std::string_view what, const TaskCallbacks& callbacks) const {
  require_open(what);
  require_callback(callbacks.on_completion, "on_completion");
  require_callback(callbacks.on_error, "on_error");
}

std::uint32_t ContextObject::to_num_tasks(py::handle value) { return to_u32(value, "num_tasks", 1); }

void ContextObject::require_no_fault(const std::string& what) const {
  if (!faulted_) return;
  raise(Status::bad_state,
        what +
            ": its context is faulted, as a cancelled task was given up while the device had its memory; stop the "
            "context, progress until it is IDLE, and start it again");
}

void ContextObject::set_on_state_changed(py::object callback) {
  require_callback(callback, "on_state_changed");
  const py::object dropped = std::exchange(on_state_changed_, std::move(callback));
}

void ContextObject::set_callback(py::object& which, const char* name, py::object callback) {
  const std::string what = std::string("set ") + name + " of";
  require_open(what);
  require_callback(callback, name);
  context_->require_idle(what);
  const py::object dropped = std::exchange(which, std::move(callback));
}

Status ContextObject::change(std::string_view what, Status (Context::*call)()) {
  require_open(what);
  const Status status = (context_.get()->*call)();
  if (is_connected()) engine_->settle();
  drain_log();
  return status;
}

void ContextObject::close() {
  if (closed_) {
    return;
  }
  if (!is_connected() || !engine_->is_forked()) {
    require_open("close");
    context_->close();
    if (is_connected()) engine_->remove_context(*this);
    closed();
    drain_log();
  }
  closed_ = true;
}

bool ContextObject::uses(const DeviceObject& device) const {
  return &device_ref_.cast<const DeviceObject&>() == &device;
}

void ContextObject::close_if_idle() {
  if (is_closed() || context_->state() != ContextState::idle) return;
  const py::object self = this->self();
  try {
    close();
  } catch (const Error&) {
    // The device's own end says what still uses it.
  } catch (py::error_already_set&) {  // the thread is not its engine's
  }
}

void ContextObject::flush_tasks() {
  require_open("flush the tasks of");
  context_->flush_tasks();
  if (is_connected()) engine_->settle();
}

py::object ContextObject::entered() {
  const Status failure = context_->failure();
  if (context_->state() == ContextState::idle && failure != Status::success) {
    raise(failure, "start " + std::string(context_->kind()) + ": " + context_->failure_reason());
  }
  return self();
}

Status ContextObject::stop() {
  require_open("stop");
  tasks_.drop_free_list();
  return change("stop", &Context::stop);
}

void ContextObject::begin_leaving() {
  if (context_->state() == ContextState::idle) {
    return;
  }
  require_open("stop");
  leaving_ = true;
  tasks_.drop_free_list();
  if (context_->stop() != Status::success) tasks_.release_idle();
  // It raises what callbacks have raised. Before the release, that would leave tasks for which the stop waits for ever.
  engine_->settle();
  drain_log();
}

void ContextObject::drop_all() {
  tasks_.free_in_flight();
  begin_leaving();
}

void ContextObject::refuse_task(Status status, std::size_t kind, std::string_view name) const {
  const bool have_batches = status == Status::no_memory && tasks_.has_batches();
  raise(status, context_->explain_allocation(status, kind, name) +
                    (have_batches ? "; batches in flight have tasks until their end" : ""));
}

void ContextObject::state_changed(std::uint64_t user_data, Context&, ContextState previous,
                                  ContextState next) noexcept {
  auto& self = of<ContextObject>(user_data);
  self.guard([&] { self.tell_state(previous, next); });
}

void ContextObject::tell_state(ContextState previous, ContextState next) {
  if (next == ContextState::stopping) {
    tasks_.drop_free_list();
    tasks_.release_abandoned();
  }
  if (next == ContextState::idle) {
    faulted_ = leaving_ = false;  // all tasks have come back
  }
  state_entered(next);
  state_waiters_.wake(*engine_, py::none());
  if (!on_state_changed_.is_none()) {
    const py::object callback = on_state_changed_;  // it may replace itself meanwhile
    const py::object self = this->self();
    engine_->call(callback, self, user_data_, self, previous, next);
  }
}

py::tuple ContextObject::snapshot(std::size_t max_tasks) const {
  const Status failure = context_->failure();
  return py::make_tuple(context_->kind(), context_->device()->info().name(), context_->state(), is_closed(),
                        is_faulted(), to_status(failure),
                        failure == Status::success ? std::string() : context_->failure_reason(),
                        context_->num_inflight_tasks(), context_->num_allocated_tasks(), to_tuple(context_->stats()),
                        tasks_.describe_in_flight(max_tasks));
}

void ContextObject::each_reference(References& references) {
  references.keep(engine_ref_, device_ref_);
  for (TaskCallbacks& callbacks : callbacks_) references.drop(callbacks.on_completion, callbacks.on_error);
  references.drop(on_state_changed_, user_data_);
  state_waiters_.each_reference(references);
}

SettledState::SettledState(py::object context)
    : context_ref_(std::move(context)),
      context_(&context_ref_.cast<ContextObject&>()),
      what_(std::string(context_->context().state() == ContextState::starting ? "start " : "stop ") +
            std::string(context_->context().kind())) {}

bool SettledState::ready() {
  const ContextState state = context_->context().state();
  return state == ContextState::idle || state == ContextState::running;
}

py::object SettledState::take() { return context_->entered(); }

}  // namespace pydoca::bindings
