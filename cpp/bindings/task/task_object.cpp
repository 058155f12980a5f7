#include "task/task_object.hpp"

#include <pydoca/log.hpp>

#include "call/raw_method.hpp"
#include "convert/collectable.hpp"
#include "convert/convert.hpp"
#include "convert/python.hpp"
#include "task/lone_task.hpp"
#include "task/quarantine.hpp"
#include "task/unseen_failures.hpp"

#include <algorithm>
#include <array>

namespace pydoca::bindings {

namespace {

/// The contextvars of a submission, while a callback runs in them.
class EnteredVariables : NotCopied {
 public:
  explicit EnteredVariables(py::object variables) : variables_(std::move(variables)) {
    if (variables_ && PyContext_Enter(variables_.ptr()) != 0) throw py::error_already_set();
  }
  ~EnteredVariables() {
    if (variables_ && PyContext_Exit(variables_.ptr()) != 0) PyErr_WriteUnraisable(variables_.ptr());
  }

 private:
  py::object variables_;
};

}  // namespace

TaskObject::TaskObject(py::object context, Task& slot, std::size_t kind)
    : SlotHolder(std::move(context), slot),
      context_(&context_ref_.cast<ContextObject&>()),
      callbacks_(&context_->callbacks(kind)) {
  take_slot(slot);
}

void TaskObject::take_slot(Task& slot) noexcept {
  slot_ = &slot;
  slot.set_user_data(reinterpret_cast<std::uintptr_t>(this));
  context_->tasks().add(*this);
}

TaskObject::~TaskObject() {
  if (quarantined_) {
    Quarantine::instance().remove(*this);
  }
  mark_seen();
  if (slot_ != nullptr) {
    context_->tasks().remove(*this);
    static_cast<void>(slot_->free());
  }
}

void TaskObject::dealloc(PyObject* self) {
  const auto* const task = static_cast<const TaskObject*>(first_value(self));
  if (task == nullptr || task->has_only_operands()) [[likely]] {
    PyObject_GC_UnTrack(self);
    end(self);
  } else {
    end_nested<&TaskObject::dealloc, &TaskObject::end>(self);
  }
}

void TaskObject::end(PyObject* self) {
  // A Python subclass may hold more state than this code can clear.
  auto* const task =
      Py_TYPE(self)->tp_dealloc == &TaskObject::dealloc ? static_cast<TaskObject*>(first_value(self)) : nullptr;
  if (task == nullptr || has_weak_references(self) || !task->join_free_list()) {
    if (auto* const ending = static_cast<TaskObject*>(first_value(self))) ending->report_unseen();
    end_instance(self);
  }
}

bool TaskObject::join_free_list() noexcept {
  const std::size_t kind = this->kind();
  if (kind == ContextTasks::num_kinds || slot_ == nullptr || is_unseen() || !context_ref_ ||
      context_ref_.ref_count() == 1) {
    return false;
  }
  clear();
  // A reference that was just dropped may have run code that stopped the context.
  if (slot_ == nullptr || context_->context().state() != ContextState::running) {
    return false;
  }
  completions_ = 0;
  status_ = Status::success;
  abandoned_ = false;
  context_->tasks().keep_free(*this, kind);
  context_ref_ = py::object();
  return true;
}

template <class Submit>
void TaskObject::attempt(const Submit& submit) {
  try {
    submit();
  } catch (...) {
    if (!in_flight_) not_submitted();
    throw;
  }
}

void TaskObject::submit(SubmitFlags flags, bool checked) {
  if (slot_ == nullptr || engine().engine().check_thread() != Status::success) [[unlikely]] {
    require_slot(checked ? "try_submit " : "submit ");
  }
  attempt([&] {
    if (!in_flight_) {
      set_operands();
    }
    if (context_->is_faulted() || !Quarantine::instance().empty()) [[unlikely]] {
      require_no_fault((checked ? "try_submit " : "submit ") + describe());
    }
    const Status status = checked ? slot_->try_submit(flags) : slot_->submit(flags);
    if (status != Status::success) [[unlikely]] {
      raise(status, (checked ? "try_submit " : "submit ") + describe() + ": " + slot_->explain(status));
    }
  });
  take_off();
}

void TaskObject::submit_threadsafe() {
  const std::string what = "submit_threadsafe " + describe();
  if (engine().engine().is_inherited()) {
    raise_named("ForkedError", what + ": " + engine().engine().describe_thread());
  }
  if (slot_ == nullptr || in_flight_) {
    raise(Status::bad_state,
          what + (in_flight_ ? ": it is in flight; wait for its completion" : ": the task is freed; make a new one"));
  }
  attempt([&] {
    set_operands();
    require_no_fault(what);
    // Set before the other thread can see the task: that thread needs the GIL to complete it, but not to take it.
    take_off();
    const Status status = engine().engine().submit_threadsafe(*slot_);
    if (status != Status::success) {
      in_flight_ = py::object();
      raise(status, what + ": " + slot_->explain(status));
    }
  });
}

void TaskObject::join_graph() {
  // The texts are made for errors only: a graph asks this of every node.
  if (slot_ == nullptr || engine().engine().check_thread() != Status::success) [[unlikely]] {
    require_slot("submit in a graph: ");
  }
  if (in_flight_) [[unlikely]] {
    require_idle("submit in a graph");
  }
  attempt([&] {
    set_operands();
    if (context_->is_faulted() || !Quarantine::instance().empty()) [[unlikely]] {
      require_no_fault("submit in a graph: " + describe());
    }
  });
  report_unseen();
  in_flight_ = self();
  abandoned_ = false;
}

void TaskObject::leave_graph(Status status) {
  const py::object self = std::exchange(in_flight_, {});
  complete(status, false);
}

void TaskObject::take_off() {
  report_unseen();
  in_flight_ = self();
  abandoned_ = false;
  const bool calls_back =
      !done_callbacks_.empty() || !callbacks_->on_completion.is_none() || !callbacks_->on_error.is_none();
  variables_ = calls_back ? py::reinterpret_steal<py::object>(PyContext_CopyCurrent()) : py::object();
}

void TaskObject::require_slot(const std::string& verb) const {
  const std::string what = verb + describe();
  engine().require_thread(what);
  if (slot_ == nullptr) {
    raise(Status::bad_state, what +
                                 ": the task is freed, by free(), by the stop of its context, or for another task "
                                 "once its await was cancelled; make a new one");
  }
}

void TaskObject::require_no_fault(const std::string& what) const {
  context_->require_no_fault(what);
  for (const Buf* list : lent_bufs()) {
    for (const Buf* buf = list; buf != nullptr; buf = buf->next()) {
      Quarantine::instance().require_released(what, {buf->mmap(), buf->head(), buf->head() + buf->len()}, this);
    }
  }
}

bool TaskObject::quarantine() {
  const std::vector<const Buf*> lent = in_flight_ ? lent_bufs() : std::vector<const Buf*>();
  if (lent.empty()) {
    return false;
  }
  abandon();
  if (!std::exchange(quarantined_, true)) {
    Quarantine::instance().add(*this, engine(), lent);
    context_->fault();
  }
  return true;
}

void TaskObject::on_complete(Task& engine_task, std::uint64_t task_user_data, std::uint64_t) noexcept {
  if (LoneTask::is_meant(task_user_data)) [[unlikely]] {
    return LoneTask::complete(engine_task, task_user_data);
  }
  auto& task = *reinterpret_cast<TaskObject*>(static_cast<std::uintptr_t>(task_user_data));
  EngineObject& engine = task.engine();
  py::object context = task.context_ref_;
  {
    const py::object self = std::move(task.in_flight_);
    if (self.ref_count() == 1) [[unlikely]] {
      task.warn_if_unseen();
    }
    try {
      task.complete(task.slot_->status(), true);
    } catch (py::error_already_set& error) {
      engine.collect(error, self);
    }
  }
  engine.keep(std::move(context));
}

void TaskObject::warn_if_unseen() const noexcept {
  const bool seen = abandoned_ || may_be_dropped() || !done_callbacks_.empty() ||
                    !callbacks_->on_completion.is_none() || !callbacks_->on_error.is_none();
  if (!seen) warn_dropped_in_flight(self_, *this);
}

void TaskObject::complete(Status status, bool calls_back) {
  status_ = status;
  ++completions_;
  if (status != Status::success) [[unlikely]] {
    note_failure(status, calls_back);
  }
  completed(status);
  if (std::exchange(quarantined_, false)) [[unlikely]] {
    Quarantine::instance().remove(*this);
  }
  if (!waiters_.empty()) {
    const py::object value = status == Status::success ? this->value() : py::none();
    waiters_.wake(engine(), py::make_tuple(static_cast<std::uint32_t>(status), value));
  }
  watches_.tell_all();
  if (calls_back && !freed_in_flight_) {
    call_back(status);
  }
  // A callback may have submitted the task again.
  if (!in_flight_ && context_->context().state() == ContextState::stopping) [[unlikely]] {
    if (freed_in_flight_ || abandoned_ || context_->is_leaving()) context_->tasks().release(*this);
  }
}

/// Without memory for the texts, the status has to do.
void TaskObject::explain(Status status) noexcept {
  try {
    reason_ = slot_->explain(status);
    explained_ = status;
    if (context_->context().failure() == status) context_->context().explain_failure(describe() + ": " + reason_);
  } catch (const std::bad_alloc&) {
    reason_.clear();
  }
}

void TaskObject::note_failure(Status status, bool calls_back) {
  explain(status);
  // A flushed task is a consequence of a stop, or of another task's failure. A graph's instance tells of its nodes.
  const bool is_expected =
      !calls_back || status == Status::shutdown || abandoned_ || freed_in_flight_ || may_be_dropped();
  if (!is_expected && callbacks_->on_error.is_none()) {
    expect_question();
  }
}

void TaskObject::log_failure() const {
  log::engine(log::Level::error, context_->context().kind(),
              [this] { return describe() + " failed, and no code asked for its outcome: " + reason_; });
}

bool TaskObject::is_inherited() const noexcept { return engine().engine().is_inherited(); }

void TaskObject::call_back(Status status) {
  const py::object& wanted = status == Status::success ? callbacks_->on_completion : callbacks_->on_error;
  if (wanted.is_none() && done_callbacks_.empty()) {
    return;
  }
  const py::object callback = wanted;
  const py::object self = this->self();
  const std::vector<py::object> done_callbacks = std::exchange(done_callbacks_, {});
  const EnteredVariables variables(std::exchange(variables_, {}));
  if (!callback.is_none()) {
    engine().call(callback, self, self, user_data_, context_->user_data());
  }
  for (const py::object& done_callback : done_callbacks) engine().call(done_callback, self, self);
}

void TaskObject::free() {
  engine().require_thread("free " + describe());
  if (slot_ == nullptr) {
    raise(Status::bad_state, "free " + describe() +
                                 ": it is freed already, by free(), at the end of its context's with block, by an "
                                 "await that failed while its context stopped, or for another task once its await was "
                                 "cancelled");
  }
  if (in_flight_) {
    if (context_->context().state() != ContextState::stopping) {
      raise(Status::in_use, "free " + describe() + ": it is in flight; wait for its completion");
    }
    freed_in_flight_ = true;
    return;
  }
  report_unseen();
  context_->tasks().release(*this);
  engine().settle();
}

void TaskObject::require_submitted(std::string_view what) const {
  if (!was_submitted()) {
    raise(Status::bad_state, std::string(what) + " " + describe() + ": it was never submitted; submit it first");
  }
}

void TaskObject::require_idle(std::string_view what) const {
  if (in_flight_) {
    raise(Status::in_use, std::string(what) + " of " + describe() + ": it is in flight; wait for its completion");
  }
  if (slot_ == nullptr) {
    raise(Status::bad_state, std::string(what) + " of " + describe() + ": it is freed; make a new task");
  }
}

py::object TaskObject::wait(std::optional<double> timeout) {
  require_submitted("wait for");
  if (in_flight_) {
    const std::uint64_t before = completions_;
    try {
      block_until(engine(), [&] { return completions_ != before; }, timeout, [&] { return "wait for " + describe(); });
    } catch (py::error_already_set& error) {
      explain_late_wait(error);
      throw;
    }
  }
  return value_or_error();
}

void TaskObject::explain_late_wait(py::error_already_set& error) const {
  const std::string reason = explain_late();
  if (reason.empty() || !error.matches(PyExc_TimeoutError) || !is_docas(error)) return;
  raise(Status::time_out, py::str(error.value()).cast<std::string>() + ": " + reason);
}

py::object TaskObject::result() {
  require_submitted("result of");
  if (in_flight_) {
    raise(Status::in_progress, "result of " + describe() + ": it is in flight; await it or wait() for it");
  }
  return value_or_error();
}

py::object TaskObject::value_or_error() {
  if (status_ != Status::success) [[unlikely]] {
    raise(exception_of(status_));
  }
  return value();
}

py::object TaskObject::exception_of(Status status) {
  mark_seen();
  if (status == Status::success) {
    return py::none();
  }
  py::object error = to_exception(status, failure_text(status));
  error.attr("task") = self();
  return error;
}

/// The operands may have changed since the failure: uses the explanation of that time.
std::string TaskObject::failure_text(Status status) const {
  return describe() + " failed: " + (status == explained_ ? reason_ : std::string(error_descr(status)));
}

void TaskObject::add_done_callback(py::object callback) {
  if (PyCallable_Check(callback.ptr()) == 0) {
    throw py::type_error("add_done_callback needs a callable, and " + std::string(Py_TYPE(callback.ptr())->tp_name) +
                         " is not");
  }
  require_plain_function("add_done_callback", callback);
  if (done()) {
    callback(self());
  } else {
    if (in_flight_ && !variables_) variables_ = py::reinterpret_steal<py::object>(PyContext_CopyCurrent());
    done_callbacks_.push_back(std::move(callback));
  }
}

std::size_t TaskObject::remove_done_callback(const py::object& callback) {
  // Comparing them runs Python code, which may change the list.
  std::vector<py::object> unwanted = done_callbacks_;
  std::erase_if(unwanted, [&](const py::object& other) { return !other.equal(callback); });
  return std::erase_if(done_callbacks_, [&](const py::object& other) {
    return std::ranges::any_of(unwanted, [&](const py::object& one) { return one.is(other); });
  });
}

void TaskObject::each_reference(References& references) {
  watches_.each_reference(references);
  if (references.are_dropped()) {
    clear();
    return;
  }
  // Does not visit in_flight_: that reference belongs to the engine.
  references.keep(context_ref_, user_data_, variables_);
  references.drop_all(done_callbacks_);
  waiters_.each_reference(references);
}

void TaskObject::clear() {
  if (has_only_operands()) [[likely]] {
    waiters_.clear();
    return;
  }
  const py::object user_data = std::exchange(user_data_, py::none());
  const py::object variables = std::exchange(variables_, {});
  const std::vector<py::object> done_callbacks = std::exchange(done_callbacks_, {});
  waiters_.clear();
}

}  // namespace pydoca::bindings
