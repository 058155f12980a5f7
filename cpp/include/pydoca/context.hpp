#pragma once

#include "pydoca/device.hpp"
#include "pydoca/status.hpp"
#include "pydoca/task.hpp"
#include "pydoca/trace.hpp"

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace pydoca::detail {
class ContextNode;
class ContextTasks;
class TaskPool;

/// Tasks so far. Two counters tell how many are in flight, so that statistics cost a task nothing.
class TaskCounts {
 public:
  std::size_t inflight() const noexcept { return submitted_ - ended_; }
  TaskStats stats() const noexcept { return {submitted_, ended_ - failed_ - cancelled_, failed_, cancelled_}; }

  void submit() noexcept { ++submitted_; }
  void end() noexcept { ++ended_; }
  /// Counts a task that ended without success.
  void fail(Status status) noexcept { ++(status == Status::shutdown ? cancelled_ : failed_); }
  /// A context ends with these still in flight.
  void cancel(std::size_t count) noexcept {
    ended_ += count;
    cancelled_ += count;
  }

 private:
  std::uint64_t submitted_ = 0;
  std::uint64_t ended_ = 0;
  std::uint64_t failed_ = 0;
  std::uint64_t cancelled_ = 0;
};
}  // namespace pydoca::detail

#pragma GCC visibility push(default)

namespace pydoca {

class ProgressEngine;

/// enum doca_ctx_states.
enum class ContextState : std::uint8_t { idle = 0, starting = 1, running = 2, stopping = 3 };

/// The base of every library object of DOCA (DOCA Core Programming Guide, context: doca_ctx): a state machine on a
/// progress engine.
///
/// | state | the caller may | it ends |
/// |---|---|---|
/// | idle | configure, connect, start, close | by start() |
/// | starting | progress, stop | when the library can take tasks, or by a failure |
/// | running | allocate and submit tasks, stop | by stop(), or by a failed task |
/// | stopping | free tasks, progress | once every task is back in its pool |
///
/// While stopping, tasks in flight come back with status shutdown unless the device had begun them. Idle, a context can
/// be configured and started again. The device is given at creation, the progress engine by ProgressEngine::connect();
/// both stay for life.
///
/// Ownership: the context holds its device and its progress engine; the application holds the context. A context that
/// is destroyed while it runs ends its run without callbacks, and the bufs of its tasks come free. A callback may drop
/// the last reference to any object, also to the one that calls it or to the engine: a context, a graph or an engine
/// then calls back no more, and is destroyed when the function that runs the callbacks returns. Until then its tasks
/// have their bufs, and the memory that they were given.
///
/// Thread safety: the thread of the progress engine; before connect(), one thread at a time.
class Context : public std::enable_shared_from_this<Context> {
 public:
  /// Called for each change, with next as state(), in start(), stop() or progress(). It may stop the context.
  using StateChanged =
      Callback<void(std::uint64_t user_data, Context& context, ContextState previous, ContextState next)>;

  virtual ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  /// Makes the tasks and opens the device's queues (doca_ctx_start); from now on the data path allocates nothing.
  /// success: running. in_progress: starting; progress until the state is running, or idle when the start failed, for
  /// the reason in failure(). Throws not_connected without a progress engine, bad_state unless idle, when closed and in
  /// a forked child, not_permitted in another thread than the engine's, invalid_value without the mandatory
  /// configuration, no_memory and operating_system when the device or the system lacks resources, driver when the
  /// device was removed; the context then is idle.
  Status start();
  /// Takes a starting or running context to stopping, and further to idle if nothing is left to do (doca_ctx_stop).
  /// success: idle; StateChanged saw no stopping. in_progress: stopping; free the tasks and progress until the state is
  /// idle. Does nothing on an idle context. In callbacks that progress() runs it answers in_progress. Throws
  /// not_permitted in another thread than the engine's, bad_state in a forked child.
  Status stop();
  /// Releases the object for good, with its share of the device. Idempotent. Throws in_use unless idle; an Rdma
  /// throws bad_state.
  void close();

  ContextState state() const noexcept { return state_; }
  /// Whether close() has released it, as closing a SyncEvent also does.
  bool is_closed() const noexcept { return closed_; }
  /// Why the context went to stopping by itself in its last run; success when it did not.
  Status failure() const noexcept { return failure_; }
  /// The same in one sentence; empty when failure() is success.
  std::string failure_reason() const;
  /// For the callback of the task whose failure stopped the context: failure_reason() will be this explanation, which
  /// the engine itself does not make, as that allocates. Later calls of the run change nothing.
  void explain_failure(std::string reason);
  /// Why no task can be taken or submitted now, and what to do; names the failure that stopped the context. It applies
  /// to a context that is not running.
  std::string explain_not_running() const;
  /// Sets the callback, in any state; null: none.
  void set_state_changed(StateChanged callback) noexcept { state_changed_ = callback; }
  /// Any 64 bits, for the callbacks; may be set in any state.
  std::uint64_t user_data() const noexcept { return user_data_; }
  void set_user_data(std::uint64_t data) noexcept { user_data_ = data; }
  /// The object by which another language knows it; null: none. For its callbacks.
  void* face() const noexcept { return face_; }
  void set_face(void* face) noexcept { face_ = face; }
  /// Tasks that were submitted and have not completed.
  std::size_t num_inflight_tasks() const noexcept { return counts_.inflight(); }
  /// Since the context was made, over all of its runs.
  TaskStats stats() const noexcept { return counts_.stats(); }
  /// Tasks that were taken from the pools and not freed, in flight or not.
  std::size_t num_allocated_tasks() const noexcept { return allocated_; }
  /// Why allocating a task answered status, in one sentence. kind: the task's number in its library's table, below the
  /// number of kinds; name: "memcpy".
  std::string explain_allocation(Status status, std::size_t kind, std::string_view name) const;
  /// Posts tasks that were submitted without SubmitFlags::flush (doca_ctx_flush_tasks). Does nothing unless started.
  virtual void flush_tasks() noexcept {}

  /// Throws bad_state unless idle and not closed, naming what was attempted: what every setter asks first.
  void require_idle(std::string_view what) const;
  /// "dma", "comch.server", ...: for messages.
  virtual std::string_view kind() const noexcept = 0;
  const std::shared_ptr<Device>& device() const noexcept { return device_.shared(); }
  /// Null until connected.
  const std::shared_ptr<ProgressEngine>& progress_engine() const noexcept { return engine_; }
  /// Its name in the present trace recording; for the engine's libraries.
  std::uint32_t trace_name() const noexcept {
    return trace_label_.index([this] { return add_trace_names(); });
  }

 protected:
  /// num_task_kinds: how many pools of tasks the library has, each for the tasks of one kind.
  Context(std::shared_ptr<Device> device, std::size_t num_task_kinds);

  // Libraries use these; they derive by detail::LibraryContext (src/library/library_context.hpp).
  /// begin() had answered in_progress, and the context runs now.
  void started() noexcept;
  /// A fatal failure takes a running or starting context to stopping. reason: in one sentence; empty: the status says
  /// it all.
  void fail(Status status, std::string_view reason = {}) noexcept;
  /// Has traces also record the messages of its tasks: see Task::number_message().
  void trace_messages() noexcept { traces_messages_ = true; }
  /// Delivers a finished operation of task, with its callback. fatal: a failure that takes a running context to
  /// stopping.
  void complete(Task& task, Status status, bool fatal) noexcept;
  /// The same, without virtual calls where T is final.
  template <std::derived_from<Task> T>
  void complete_as(T& task, Status status, bool fatal) noexcept;
  /// Ends a task in flight without a callback; its bufs come free.
  void take_back(Task& task, Status status) noexcept { task.finish(status); }
  /// For the destructor of a library: ends the run without callbacks, when the context still runs.
  void abandon() noexcept;
  /// Whether begin() was called and end() was not.
  bool is_live() const noexcept { return live_; }
  /// The last step of a stop, when that is all there is left to do.
  bool finish_stopping(bool& more) noexcept;

 private:
  friend class ProgressEngine;
  friend class Task;
  friend class detail::ContextTasks;

  void request_progress() noexcept;
  void enter(ContextState next) noexcept;
  /// Counts the failure; a fatal one takes a running context to stopping.
  [[gnu::cold, gnu::noinline]] void task_failed(const Task& task, Status status, bool fatal) noexcept;
  /// Calls the state callback: the context was in previous.
  void announce(ContextState previous) noexcept;
  /// The context is stopping from now on: the library ends what the device has not begun.
  void quiesce() noexcept;
  bool can_settle() const noexcept;
  void become_idle(ContextState previous) noexcept;
  void count_failure(Status status) noexcept;
  /// Completes a task that could not be submitted when it was its turn, and so was never in flight.
  void reject(Task& task, Status status) noexcept;
  /// Delivers a completion that is not the callback's: Task::detour_ says whose.
  [[gnu::noinline]] static void complete_aside(Task& task) noexcept;
  /// The same of a task that was freed in flight, or has several bits.
  [[gnu::cold, gnu::noinline]] static void complete_aside_slowly(Task& task, std::uint8_t detour) noexcept;
  void record_completion(Task& task) noexcept;
  void record(const Task& task, TraceEventKind kind, Status status, std::uint64_t begin, std::uint64_t value) noexcept;
  std::uint32_t add_trace_names() const noexcept;

  detail::ContextNode* node_ = nullptr;  ///< this object, as its engine and its library see it
  DeviceUse device_;
  std::shared_ptr<ProgressEngine> engine_;
  detail::TaskCounts* engine_counts_ = nullptr;  ///< the engine's own
  StateChanged state_changed_ = nullptr;
  std::uint64_t user_data_ = 0;
  void* face_ = nullptr;
  std::unique_ptr<detail::TaskPool[]> pools_;
  std::size_t num_pools_;
  detail::TaskCounts counts_;
  std::size_t allocated_ = 0;
  ContextState state_ = ContextState::idle;
  Status failure_ = Status::success;
  std::string failure_reason_;
  bool closed_ = false;
  bool live_ = false;  ///< begin() was called and end() was not
  bool traces_messages_ = false;
  TraceLabel trace_label_;
};

}  // namespace pydoca

#pragma GCC visibility pop
