#pragma once

#include "pydoca/backend.hpp"
#include "pydoca/device.hpp"
#include "pydoca/status.hpp"
#include "pydoca/task.hpp"
#include "pydoca/types.hpp"

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace pydoca {

class ProgressEngine;

/// enum doca_ctx_states.
enum class ContextState : std::uint8_t { idle = 0, starting = 1, running = 2, stopping = 3 };

/// What every library object of DOCA is (DOCA Core: doca_ctx): a state machine on a progress engine.
/// idle: configure, connect, start. starting: progress, or stop. running: allocate and submit tasks. stopping:
/// in-flight tasks come back, failed with shutdown unless the device had begun them; idle once every task is back in
/// its pool. A failed task takes a running context to stopping by itself. Belongs to its progress engine's thread.
class Context : public std::enable_shared_from_this<Context>, public backend::Doorbell {
 public:
  using StateChanged = void (*)(std::uint64_t user_data, Context& context, ContextState previous, ContextState next);

  ~Context() override;

  /// success: running. in_progress: starting; progress until running, or idle when it failed (why: failure()).
  /// Throws not_connected without a progress engine, bad_state unless idle, invalid_value when nothing is configured.
  Status start();
  /// success: idle (stopping an idle context does nothing). in_progress: stopping; free the tasks and progress until
  /// idle. May be called in completion callbacks, where it answers in_progress.
  Status stop();
  /// Releases the object for good; idempotent. Throws in_use unless idle.
  void close();

  ContextState state() const noexcept { return state_; }
  /// Why the context last went to stopping or idle by itself; success when it did not.
  Status failure() const noexcept { return failure_; }
  void set_state_changed(StateChanged callback) noexcept { state_changed_ = callback; }
  std::uint64_t user_data() const noexcept { return user_data_; }
  void set_user_data(std::uint64_t data) noexcept { user_data_ = data; }
  /// Submitted and not completed.
  std::size_t num_inflight_tasks() const noexcept { return inflight_; }
  /// Taken from the pools and not freed, in flight or not.
  std::size_t num_allocated_tasks() const noexcept { return allocated_; }
  /// Posts tasks that were submitted without SubmitFlags::flush.
  virtual void flush_tasks() noexcept {}

  /// "dma", "comch.server", ...: for messages.
  virtual std::string_view kind() const noexcept = 0;
  const std::shared_ptr<Device>& device() const noexcept { return device_.shared(); }
  /// Null until connected.
  const std::shared_ptr<ProgressEngine>& progress_engine() const noexcept { return engine_; }

 protected:
  explicit Context(std::shared_ptr<Device> device);

  // What a library implements. begin() may throw; the others do not fail.
  /// Builds queues and pools. success: running; in_progress: starting.
  virtual Status begin() = 0;
  /// Ends what the device has not begun; completions follow through progress.
  virtual void quiesce() noexcept = 0;
  /// Whether nothing of the library's own (connections, say) stands between stopping and idle.
  virtual bool quiesced() const noexcept { return true; }
  /// Releases what begin() built, or had built when it threw.
  virtual void end() noexcept = 0;
  /// Delivers at most one completion or event of the library's queues.
  virtual bool poll_one(bool& more) noexcept = 0;

  /// close() was called: lets go of what is held from one run to the next.
  virtual void release() noexcept {}

  /// For begin() having answered in_progress.
  void started() noexcept;
  /// A fatal failure: to stopping.
  void fail(Status status) noexcept;
  /// Delivers a finished operation of task, with its callback; a failure is fatal to a running context when fatal.
  void complete(Task& task, Status status, bool fatal = true) noexcept { complete_as(task, status, fatal); }
  /// The same, without virtual calls where T is final. Inline, as the bookkeeping of pools below: it runs for every
  /// task.
  template <std::derived_from<Task> T>
  void complete_as(T& task, Status status, bool fatal) noexcept {
    --inflight_;
    --*engine_inflight_;
    task.state_ = Task::State::idle;
    task.status_ = status;
    task.finish(status);
    if (status != Status::success && fatal) [[unlikely]] {
      fail(status);
    }
    if (const Task::Callback callback = task.callback(status)) {
      callback(task, task.user_data_, user_data_);
    }
  }
  /// Asks for one more progress, which takes a stopping context to idle when all has come back.
  void settle() noexcept {
    if (state_ == ContextState::stopping && can_settle()) [[unlikely]] {
      ring();
    }
  }
  /// For the destructor of every library: end(), without callbacks, when the context still runs.
  void abandon() noexcept;
  /// Throws bad_state unless idle, naming what was attempted.
  void require_idle(std::string_view what) const;

  // Bookkeeping of pools: a slot leaves (its state becomes idle) or comes back.
  void task_taken(Task& task) noexcept {
    task.state_ = Task::State::idle;
    task.status_ = Status::success;
    ++allocated_;
  }

  bool progress_one(bool& more) noexcept override;
  // What that consists of, for a library that is final and so can do it without a virtual call.
  bool is_live() const noexcept { return live_; }
  /// The last step of a stop, when that is all there is left to do.
  bool finish_stopping(bool& more) noexcept;

 private:
  friend class ProgressEngine;
  friend class Task;

  void enter(ContextState next) noexcept;
  void begin_stopping() noexcept;
  bool can_settle() const noexcept;
  void become_idle() noexcept;
  /// Completes a task that could not be submitted when it was its turn, and so was never in flight.
  void reject(Task& task, Status status) noexcept;
  void task_freed() noexcept {
    --allocated_;
    settle();
  }

  DeviceUse device_;
  std::shared_ptr<ProgressEngine> engine_;
  std::size_t* engine_inflight_ = nullptr;  ///< the engine's own count
  StateChanged state_changed_ = nullptr;
  std::uint64_t user_data_ = 0;
  std::size_t inflight_ = 0;
  std::size_t allocated_ = 0;
  ContextState state_ = ContextState::idle;
  Status failure_ = Status::success;
  bool closed_ = false;
  bool live_ = false;  ///< begin() was called and end() was not
};

}  // namespace pydoca
