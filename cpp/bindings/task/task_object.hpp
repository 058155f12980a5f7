#pragma once

#include <pydoca/buf.hpp>
#include <pydoca/task.hpp>

#include "task/awaitable.hpp"
#include "task/context_object.hpp"

#include <pybind11/pybind11.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace pydoca::bindings {

/// A task as Python has it: a slot of its context's pool, found by the engine's callback through the task's user data
/// word. While the engine has the task it has a reference to this object too, so that whatever Python drops, memory
/// stays. The slot goes back when the object dies, by free(), or when the context stops, and goes to another task when
/// the await was cancelled and no slot is left; the outcome stays readable.
class TaskObject {
 public:
  explicit TaskObject(pybind11::object context, Task& slot);
  virtual ~TaskObject();
  TaskObject(const TaskObject&) = delete;
  TaskObject& operator=(const TaskObject&) = delete;

  /// Python's object for a new task.
  template <typename T>
  static pybind11::object publish(std::unique_ptr<T> task) {
    TaskObject& made = *task;
    pybind11::object object = pybind11::cast(std::move(task));
    made.self_ = object;
    return object;
  }
  /// For the class, as its tp_dealloc: an idle task's object may stay with the context, as a spare one.
  static void dealloc(PyObject* self);

  /// What the engine calls for every task that is a TaskObject's: for set_conf of the libraries.
  static void on_complete(Task& task, std::uint64_t task_user_data, std::uint64_t context_user_data);

  /// Throws the data path's status as an exception that names the task; checked: validates first (try_submit).
  void submit(SubmitFlags flags, bool checked);
  /// From any thread: has the engine submit it in its own. Throws bad_state when it is in flight or freed, and what
  /// submit() throws for its operands; everything else is the completion's to tell.
  void submit_threadsafe();
  /// Throws in_use while in flight, bad_state when freed already.
  void free();
  /// Progresses until the submission under way has completed; gives its value or throws its error.
  pybind11::object wait(std::optional<double> timeout);
  /// The value of the last completion, or throws its error; in_progress while in flight, bad_state when never
  /// submitted.
  pybind11::object result();
  /// What a successful completion has brought; None where it brings nothing.
  virtual pybind11::object value() const { return pybind11::none(); }
  /// The same as an exception or None, of the last completion also while in flight again.
  pybind11::object outcome() { return exception_of(status_); }
  /// The value of the last completion, or throws its error.
  pybind11::object value_or_error();
  /// The exception of a failed completion, with this task in it; None for success.
  pybind11::object exception_of(Status status);

  ContextObject& context() const noexcept { return *context_; }
  EngineObject& engine() const noexcept { return context_->engine(); }
  const pybind11::object& context_ref() const noexcept { return context_ref_; }
  pybind11::object self() const { return pybind11::reinterpret_borrow<pybind11::object>(self_); }
  bool in_flight() const noexcept { return static_cast<bool>(in_flight_); }
  /// Completed at least once and not in flight.
  bool done() const noexcept { return completions_ != 0 && !in_flight_; }
  bool is_freed() const noexcept { return slot_ == nullptr; }
  std::uint64_t completions() const noexcept { return completions_; }
  bool was_submitted() const noexcept { return in_flight() || completions_ != 0; }
  Status status() const noexcept { return in_flight_ ? Status::in_progress : status_; }
  Task::State state() const noexcept { return slot_ != nullptr ? slot_->state() : Task::State::free; }
  Task* slot() const noexcept { return slot_; }

  const pybind11::object& user_data() const noexcept { return user_data_; }
  void set_user_data(pybind11::object data) { user_data_ = std::move(data); }
  /// Called with the task by the next completion; at once when the task is done.
  void add_done_callback(pybind11::object callback);
  /// Returns how many equal to callback were removed.
  std::size_t remove_done_callback(const pybind11::object& callback);
  Waiters& waiters() noexcept { return waiters_; }

  /// Nobody waits for the flight any more, and the device may go on: what it lends is quarantined until its completion,
  /// and its context is faulted. Whether there was such memory.
  bool quarantine();

  /// Gives the slot back, if it is the caller's.
  void release_slot() noexcept;
  void require_submitted(std::string_view what) const;

  virtual int traverse(visitproc visit, void* arg) const;
  virtual void clear();

  /// What the task is, for messages: "dma memcpy of 4096 bytes".
  virtual std::string describe() const = 0;
  /// Whether a failure shows elsewhere too, so that nothing goes unseen when it is dropped in flight.
  virtual bool may_be_dropped() const noexcept { return false; }
  /// Whether a flight uses memory of Python's, so that giving up waits for its end.
  virtual bool lends_memory() const noexcept { return true; }
  /// Somebody who waited has given up: that nobody sees the outcome is as wanted, and once it is there, the context may
  /// take the slot for another task that needs one. Until the next submission.
  virtual void abandon() { abandoned_ = true; }
  bool is_abandoned() const noexcept { return abandoned_; }

 protected:
  /// Which of the context's lists of spare tasks is for such as this one; ContextObject::num_task_kinds: none.
  virtual std::size_t kind() const noexcept { return ContextObject::num_task_kinds; }
  /// The slot has completed, and may be given back before anybody looks.
  virtual void completed(Status /*status*/) {}
  /// The lists of bufs that the operation is lent, those of the application's memory.
  virtual std::vector<const Buf*> lent_bufs() const { return {}; }
  /// Gives the slot its operands, before every submission; throws when there is something wrong with them.
  virtual void set_operands() {}
  /// Drops what the operation needs no longer once there is no slot.
  virtual void forget_operands() noexcept = 0;
  void require_idle(std::string_view what) const;

 private:
  friend class ContextObject;

  /// Leaves this object, to which nobody refers, to the context; false when it must end.
  bool become_spare() noexcept;
  /// The reverse.
  pybind11::object become_used(pybind11::object context) noexcept;

  void require_slot(const std::string& verb) const;
  /// The engine has the task from now on.
  void take_off();
  void require_no_fault(const std::string& what) const;
  void complete(Status status);
  /// In Python's development mode, for a task that nothing in Python refers to any more.
  void warn_if_unseen() const noexcept;
  void call_back(Status status);

  pybind11::object context_ref_;
  ContextObject* context_;
  Task* slot_;
  pybind11::handle self_;       ///< Python's object for this, not a reference
  pybind11::object in_flight_;  ///< the engine's reference to it, from submission to completion
  pybind11::object user_data_ = pybind11::none();
  pybind11::object variables_;  ///< contextvars as of the submission, for callbacks
  std::vector<pybind11::object> done_callbacks_;
  Waiters waiters_;
  std::uint64_t completions_ = 0;
  Status status_ = Status::success;
  Status explained_ = Status::success;  ///< of the last failure
  std::string reason_;                  ///< its explanation
  bool abandoned_ = false;
  TaskObject* next_spare_ = nullptr;
  bool quarantined_ = false;
  TaskObject* previous_ = nullptr;  ///< in the context's list
  TaskObject* next_ = nullptr;
};

}  // namespace pydoca::bindings
