#pragma once

#include <pydoca/buf.hpp>
#include <pydoca/task.hpp>

#include "convert/pybind.hpp"
#include "engine/awaitable.hpp"
#include "task/context_object.hpp"
#include "task/task_watch.hpp"
#include "task/unseen_failures.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace pydoca::bindings {

/// A task as Python has it: a slot of its context's pool. The engine's callback finds this object through the task's
/// user data word. While the engine has the task, it has a reference to this object too, so that memory stays even when
/// Python drops every reference. The slot goes back when the object ends, at free(), at the end of the context's with
/// block, and when an await raises its failure while the context stops. When an await was cancelled and no slot is
/// left, another task may take the slot; the outcome stays readable.
class TaskObject : public SlotHolder, public Unseen {
 public:
  /// kind: the number of the task's kind in its library's table.
  TaskObject(py::object context, Task& slot, std::size_t kind);
  ~TaskObject() override;

  /// The Python object of class T around a slot that was just taken, which goes back if the object finds no memory.
  template <typename T, typename Slot, typename... Arguments>
  static py::object make(py::object context, Slot& slot, Arguments&&... arguments) {
    const auto give_back = [](Slot* taken) { static_cast<void>(taken->free()); };
    std::unique_ptr<Slot, decltype(give_back)> taken(&slot, give_back);
    const auto task = std::make_shared<T>(std::move(context), slot, std::forward<Arguments>(arguments)...);
    taken.release();
    py::object object = py::cast(task);
    task->self_ = object;
    return object;
  }
  /// The tp_dealloc of the class: the object of an idle task may stay with the context, in its free list.
  static void dealloc(PyObject* self);

  /// The engine's callback for every TaskObject's task; the libraries pass it to set_conf.
  static void on_complete(Task& task, std::uint64_t task_user_data, std::uint64_t context_user_data) noexcept;

  /// Throws the data path's status as an exception that names the task. checked: validates first (try_submit).
  void submit(SubmitFlags flags, bool checked);
  /// Queues the task, and the engine submits it in its own thread; any thread may call it. Throws bad_state when it is
  /// in flight or freed, and submit()'s errors for its operands; the completion reports all other errors.
  void submit_threadsafe();
  /// Gives the slot its operands for an instance of a graph, which will submit the task. The task is in flight from now
  /// on, until leave_graph(). Throws submit()'s errors, and bad_state in flight.
  void join_graph();
  /// The instance has ended: the task with status, without callbacks.
  void leave_graph(Status status);
  /// The instance was refused: the task is as before.
  void forget_graph() noexcept {
    in_flight_ = py::object();
    not_submitted();
  }
  /// Frees the task. If it is in flight while the context is stopping, that takes effect at completion, which then
  /// calls no callback. Throws in_use while in flight otherwise, bad_state when freed already.
  void free();
  /// Progresses until the present submission has completed. Returns its value or throws its error.
  py::object wait(std::optional<double> timeout);
  /// The value of the last completion, or throws its error. Throws in_progress while in flight, bad_state when never
  /// submitted.
  py::object result();
  /// The value of a successful completion; None for tasks without a value.
  virtual py::object value() const { return py::none(); }
  /// The exception of the last completion, or None; also while in flight again.
  py::object outcome() { return exception_of(status_); }
  /// The value of the last completion, or throws its error.
  py::object value_or_error();
  /// The exception of a failed completion, which has this task; None for success.
  py::object exception_of(Status status);
  /// The text of that exception.
  std::string failure_text(Status status) const;
  /// Frees a task that is done while its context stops: no program can submit it again before the context was idle.
  void free_if_stopping() noexcept {
    if (done() && context_->context().state() == ContextState::stopping) context_->tasks().release(*this);
  }

  ContextObject& context() const noexcept { return *context_; }
  EngineObject& engine() const noexcept { return context_->engine(); }
  const py::object& context_ref() const noexcept { return context_ref_; }
  bool was_submitted() const noexcept { return in_flight() || completions_ != 0; }
  Status status() const noexcept { return in_flight_ ? Status::in_progress : status_; }
  /// The explanation of the last completion, when that failed.
  const std::string& reason() const noexcept { return reason_; }
  /// What a trace calls the task; null when it is freed.
  const void* identity() const noexcept { return slot_; }
  Task::State state() const noexcept { return slot_ != nullptr ? slot_->state() : Task::State::free; }

  const py::object& user_data() const noexcept { return user_data_; }
  void set_user_data(py::object data) { user_data_ = std::move(data); }
  /// The next completion calls callback with the task; a task that is done calls it at once.
  void add_done_callback(py::object callback);
  /// Removes all callbacks equal to callback; returns how many.
  std::size_t remove_done_callback(const py::object& callback);
  Waiters& waiters() noexcept { return waiters_; }
  TaskWatches& watches() noexcept { return watches_; }

  /// Gives the task up: the device may continue with it. The memory that it lends is in quarantine until its
  /// completion, and its context is faulted. Returns whether there was such memory.
  bool quarantine();

  void require_submitted(std::string_view what) const;

  virtual void each_reference(References& references);
  /// Drops the references that the object can do without.
  virtual void clear();

  /// Whether a failure also shows elsewhere, so that a task dropped in flight needs no warning.
  virtual bool may_be_dropped() const noexcept { return false; }
  /// Whether an operation in flight uses Python's memory; giving the task up then waits for its end.
  virtual bool lends_memory() const noexcept { return true; }
  /// Records that a waiter has given up. A dropped outcome then needs no warning. Once the task has completed, the
  /// context may take its slot for another task. Holds until the next submission.
  virtual void abandon() {
    abandoned_ = true;
    mark_seen();
  }

 protected:
  /// What a wait that took too long found, for its error; empty: nothing to tell.
  virtual std::string explain_late() const { return {}; }
  /// The index of the context's free list for this task; ContextTasks::num_kinds: none.
  virtual std::size_t kind() const noexcept { return ContextTasks::num_kinds; }
  /// Whether the slot has completed and may be given back before the outcome is read.
  virtual void completed(Status /*status*/) {}
  /// The lists of bufs that the operation is lent: those in the application's memory.
  virtual std::vector<const Buf*> lent_bufs() const { return {}; }
  /// Gives the slot its operands, before every submission. Throws when an operand is not valid.
  virtual void set_operands() {}
  /// Takes back what set_operands() has taken: the submission was refused.
  virtual void not_submitted() noexcept {}
  void require_idle(std::string_view what) const;
  /// Gives a slot to an object that has none.
  void take_slot(Task& slot) noexcept;

 private:
  void log_failure() const override;
  bool is_inherited() const noexcept override;
  /// Runs submit(), and not_submitted() when that throws.
  template <class Submit>
  void attempt(const Submit& submit);
  /// Throws error again with explain_late(), if it is a time-out.
  void explain_late_wait(py::error_already_set& error) const;
  /// Leaves this object, which has no references, to the context in its free list. False when it must end.
  bool join_free_list() noexcept;
  void require_slot(const std::string& verb) const;
  /// Marks the task as the engine's.
  void take_off();
  static void end(PyObject* self);
  /// Whether it refers to nothing that may be another task.
  bool has_only_operands() const noexcept { return user_data_.is_none() && !variables_ && done_callbacks_.empty(); }
  void require_no_fault(const std::string& what) const;
  void complete(Status status, bool calls_back);
  /// Keeps the explanation, and expects that some code asks for it unless the task is a node of a graph.
  void note_failure(Status status, bool calls_back);
  void explain(Status status) noexcept;
  /// Warns, in Python's development mode, about a task that Python does not refer to any more.
  void warn_if_unseen() const noexcept;
  void call_back(Status status);

  ContextObject* context_;
  const TaskCallbacks* callbacks_;  ///< the context's, of tasks of this kind
  py::object user_data_ = py::none();
  py::object variables_;  ///< the contextvars of the submission, for callbacks
  std::vector<py::object> done_callbacks_;
  Waiters waiters_;
  TaskWatches watches_;
  Status status_ = Status::success;
  Status explained_ = Status::success;  ///< the status of the last failure
  std::string reason_;                  ///< the explanation of the last failure
  bool quarantined_ = false;
};

}  // namespace pydoca::bindings
