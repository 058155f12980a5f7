#pragma once

#include "convert/collectable.hpp"
#include "convert/pybind.hpp"
#include "task/task_object.hpp"
#include "task/task_watch.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace pydoca::bindings {

/// The next completion of a task, with asyncio's interface of futures: asyncio.gather(), wait() and others take it as
/// it is, where they would wrap an awaitable object in an asyncio task. It copies the outcome. Cancelling it gives the
/// task up by the rules of a cancelled await: it is cancelled once the device has released the memory.
class TaskFuture final : public TaskWatch {
 public:
  enum class State : std::uint8_t {
    pending,
    cancelling,  ///< the device still has the memory
    cancelled,
    done,
  };

  /// Throws bad_state for a task that was never submitted, and the bridge's refusals: without a running loop, or in
  /// another loop or thread than the engine's.
  static py::object make(PyObject* task);
  /// The future that a Python object is.
  static TaskFuture& of(PyObject* self) noexcept;

  bool is_done() const noexcept { return state_ == State::done || state_ == State::cancelled; }
  bool is_cancelled() const noexcept { return state_ == State::cancelled; }
  /// The value, or throws: the task's error, CancelledError, or InvalidStateError before the end.
  py::object result();
  /// The task's error or None; throws CancelledError, or InvalidStateError before the end.
  py::object exception();
  py::object make_cancelled_error() const;
  /// Whether the Python error that is set is asyncio's CancelledError.
  static bool is_cancellation();
  const py::object& loop() const noexcept { return loop_; }
  /// None, or the message of the cancellation.
  const py::object& message() const noexcept { return message_; }
  std::string describe() const;

  /// False once it is done. message: None, or the text of the CancelledError. A second call with the text of the first
  /// one changes nothing: anyio cancels again in every turn of the loop, with the same text.
  bool cancel(const py::object& message);
  /// The engine's drain_timeout is over, or a second cancellation has come.
  void stop_draining();
  /// Schedules function(future) in the context of variables, once the future is done.
  void add_done_callback(py::object function, py::object variables);
  std::size_t remove_done_callback(const py::object& function);

  /// The batch of deliveries is over, in which the task has completed.
  void delivery_ended();
  /// Runs the callbacks, as the loop's handles do. Throws what a loop lets through: KeyboardInterrupt, SystemExit.
  void run_callbacks();

  void each_reference(References& references) override;
  void each_own_reference(References& references);

 private:
  friend struct TaskFuturePlace;

  struct Callback {
    py::object function;
    py::object variables;
  };

  TaskFuture(py::handle self, py::object task, py::object loop);
  void completed() noexcept override;
  void copy_outcome();
  TaskObject& task() const { return *task_object_; }
  void require_done() const;
  void require_thread(const char* what) const;
  void end_as_cancelled();
  void leave_wait();
  void schedule_callbacks();
  void schedule(const Callback& callback) const;
  void run(const Callback& callback);

  py::handle self_;
  py::object kept_;  ///< the Python object of this, while a callback waits for the task
  py::object task_;  ///< null once it has succeeded: a future that asyncio keeps does not keep a slot
  TaskObject* task_object_;
  py::object loop_;
  std::vector<Callback> callbacks_;
  py::object value_;
  py::object message_ = py::none();  ///< of the cancellation
  py::object note_;                  ///< of the CancelledError: memory is in quarantine
  py::object timer_;                 ///< of drain_timeout
  std::string failure_;              ///< the text of the error
  std::uint64_t completions_ = 0;    ///< the task's number of the completion
  Status status_ = Status::success;
  State state_ = State::pending;
};

/// Adds a TaskFuture to those that the engine's present batch of deliveries has completed. Their callbacks run in one
/// call of their loop, in the order of the completions: a handle of the loop for each future would cost more than all
/// the rest. To the engine the whole is one waiter, which it wakes at the end of the batch. Throws when memory is
/// short.
void deliver_later(EngineObject& engine, py::object future);

}  // namespace pydoca::bindings
