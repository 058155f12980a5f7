#include "task/context_object.hpp"

#include "call/keywords.hpp"
#include "convert/convert.hpp"
#include "convert/python.hpp"

#include <utility>

namespace pydoca::bindings {

ContextOptions ContextOptions::of(const py::kwargs& given) {
  return {callback(given, "on_completion"), callback(given, "on_error"), callback(given, "on_state_changed"),
          keyword(given, "user_data")};
}

ContextObject::ContextObject(py::object engine, py::object device, std::shared_ptr<Context> context,
                             ContextOptions options)
    : engine_ref_(std::move(engine)),
      device_ref_(std::move(device)),
      engine_(&to_engine(engine_ref_)),
      context_(std::move(context)),
      options_(std::move(options)) {
  engine_->require_open("connect " + std::string(context_->kind()));
  engine_->engine().connect(context_);
  context_->set_user_data(reinterpret_cast<std::uintptr_t>(this));
  context_->set_state_changed(state_changed);
  engine_->add_context(*this);
}

ContextObject::~ContextObject() {
  context_->set_state_changed(nullptr);
  tasks_.drop_spares();
  engine_->remove_context(*this);
}

py::object ContextObject::self() {
  if (!self_) self_ = py::cast(this);
  return py::reinterpret_borrow<py::object>(self_);
}

void ContextObject::require_open(std::string_view what) const {
  engine_->require_thread(std::string(what) + " " + std::string(context_->kind()));
}

Status ContextObject::change(std::string_view what, Status (Context::*call)()) {
  require_open(what);
  const Status status = (context_.get()->*call)();
  engine_->settle();
  drain_log();
  return status;
}

void ContextObject::close() {
  if (closed_) {
    return;
  }
  if (!engine_->is_forked()) {
    require_open("close");
    context_->close();
    engine_->remove_context(*this);
    drain_log();
  }
  closed_ = true;
}

void ContextObject::flush_tasks() {
  require_open("flush the tasks of");
  context_->flush_tasks();
  engine_->settle();
}

py::object ContextObject::entered() {
  const Status failure = context_->failure();
  if (context_->state() == ContextState::idle && failure != Status::success) {
    raise(failure, "start " + std::string(context_->kind()) + ": " + std::string(error_descr(failure)));
  }
  return self();
}

Status ContextObject::stop() {
  require_open("stop");
  tasks_.drop_spares();
  return change("stop", &Context::stop);
}

void ContextObject::begin_leaving() {
  if (context_->state() == ContextState::idle) {
    return;
  }
  leaving_ = true;
  if (stop() != Status::success) {
    tasks_.release_idle();
    engine_->settle();
  }
}

void ContextObject::refuse_task(Status status, std::size_t kind, std::string_view name) const {
  raise(status, context_->explain_allocation(status, kind, name));
}

void ContextObject::state_changed(std::uint64_t user_data, Context&, ContextState previous, ContextState next) {
  auto& self = of<ContextObject>(user_data);
  self.guard([&] { self.tell_state(previous, next); });
}

void ContextObject::tell_state(ContextState previous, ContextState next) {
  if (next == ContextState::stopping) {
    tasks_.drop_spares();
    tasks_.release_abandoned();
  }
  if (next == ContextState::idle) {
    faulted_ = leaving_ = false;  // all tasks have come back
  }
  state_entered(next);
  state_waiters_.wake(*engine_, py::none());
  if (!options_.on_state_changed.is_none()) {
    const py::object self = this->self();
    engine_->call(options_.on_state_changed, self, options_.user_data, self, previous, next);
  }
}

void ContextObject::each_reference(References& references) {
  references.keep(engine_ref_, device_ref_);
  references.drop(options_.on_completion, options_.on_error, options_.on_state_changed, options_.user_data);
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
