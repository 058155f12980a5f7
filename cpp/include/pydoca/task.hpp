#pragma once

#include "pydoca/callback.hpp"
#include "pydoca/status.hpp"
#include "pydoca/types.hpp"

#include <atomic>
#include <cstdint>
#include <string>

namespace pydoca::detail {
class TaskPool;
struct Violation;

/// What says that a task will be submitted.
enum class Promise : std::uint8_t {
  claim,    ///< its graph, in the engine's thread
  handover  ///< ProgressEngine::submit_threadsafe(), in any thread
};
}  // namespace pydoca::detail

#pragma GCC visibility push(default)

namespace pydoca {

class Context;
class ProgressEngine;
class Task;

/// Called by progress() when a task, which is a T, has completed: it is idle then, and its bufs are free. The callback
/// may submit, free and take tasks, and stop the context; it must not call progress(). The user data are the task's and
/// the context's.
template <typename T>
using TaskCallback = Callback<void(Task& task, std::uint64_t task_user_data, std::uint64_t context_user_data), T>;

/// How many tasks of a context, or of all contexts of an engine, so far: numbers that only grow.
struct TaskStats {
  std::uint64_t submitted = 0;
  std::uint64_t completed = 0;  ///< tasks that ended with success
  std::uint64_t failed = 0;     ///< tasks that ended with another status than success and shutdown
  std::uint64_t cancelled = 0;  ///< flushed, with status shutdown: the device had not begun them
};

/// A unit of work, a slot of its context's pool (DOCA Core Programming Guide, tasks: struct doca_task).
///
/// | state | the task is | it ends |
/// |---|---|---|
/// | free | in the pool; no call is allowed | by the function of its context that takes it |
/// | idle | the caller's: taken, or completed | by submit() or free() |
/// | submitted | the engine's, with its bufs | in ProgressEngine::progress(), before the callback |
/// | claimed | a running graph's, which keeps its bufs; freeing it fails its graph | by submission, or by free() |
///
/// After its callback a task is submitted again or freed, in the callback or later. A context that stops waits for the
/// tasks that are not free. It keeps the tasks until it starts again or ends: submit(), try_submit() and free() answer
/// bad_state until then.
///
/// Thread safety: the thread of the context's progress engine; ProgressEngine::submit_threadsafe() is for others. In
/// another one submit() answers not_permitted. So do free() and the functions that take a task in builds with the
/// option PYDOCA_CHECKS; in others their behaviour is undefined then. Only explain() allocates memory here.
class Task {
 public:
  /// What the engine calls: see TaskCallback.
  using Callback = TaskCallback<Task>::Raw;
  enum class State : std::uint8_t {
    free,       ///< the pool has it
    idle,       ///< the caller's: allocated, or completed
    submitted,  ///< the engine's
    claimed,    ///< a running graph's, which has not submitted it yet
  };
  class Observer;  ///< a graph's part that has claimed tasks: for the engine's libraries

  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

  /// Hands the task to the engine (doca_task_submit). The operands are not validated: a fault in them is a failed
  /// completion, which takes most contexts to stopping (see the library). success: the callback follows, by progress(),
  /// never in this call. After another status no callback follows, and the task is the caller's as before: bad_state
  /// unless the context is running and the task idle, and in a forked child; not_permitted in a thread that is not the
  /// progress engine's; in_use while another task fills the destination; again while the queue is full; and what the
  /// library adds.
  Status submit(SubmitFlags flags = SubmitFlags::flush) noexcept;
  /// The same after validating the operands (doca_task_try_submit): invalid_value for a fault that this side can see.
  /// explain() says which.
  Status try_submit(SubmitFlags flags = SubmitFlags::flush) noexcept;
  /// Gives the slot back to the pool (doca_task_free), and lets go of what the task refers to. While it
  /// is submitted and its context is stopping, this takes effect at completion, and no callback follows. in_use while
  /// it is submitted otherwise, or was handed to ProgressEngine::submit_threadsafe(); bad_state when it is free
  /// already.
  Status free() noexcept;

  /// Why a submission answered status, or why the task failed with it: one sentence that names the object, the limit
  /// and the values, and says what to do. It looks at the operands as they are, so call it before they change.
  virtual std::string explain(Status status) const;

  State state() const noexcept { return state_; }
  /// The outcome of the last completion: success, or why it failed. in_progress while submitted.
  Status status() const noexcept { return status_; }
  /// The context outlives its tasks.
  Context& context() const noexcept { return *context_; }
  /// Whether a thread has handed it over, and its engine has not taken it yet.
  bool is_handed_over() const noexcept { return handed_over_.load(std::memory_order_relaxed); }
  /// Any 64 bits, for the callback.
  std::uint64_t user_data() const noexcept { return user_data_; }
  void set_user_data(std::uint64_t data) noexcept { user_data_ = data; }

 protected:
  /// pool is the one that makes this task.
  Task(Context& context, detail::TaskPool& pool) noexcept : context_(&context), pool_(&pool) {}
  virtual ~Task() = default;

  /// Whether the operands break a limit, so that the operation would fail in the device. why, unless null, receives
  /// the first one.
  virtual bool breaks_limit(detail::Violation* why) const noexcept = 0;
  /// Takes hold of the bufs and posts to the queue.
  virtual Status post(bool flush) noexcept = 0;
  /// Lets go of the bufs and updates them, before the callback.
  virtual void finish(Status status) noexcept = 0;
  /// The task will be submitted (change is 1); later it has been, or will not be (-1). Its bufs are not given back in
  /// between.
  virtual void promise_operands(std::int32_t /*change*/, detail::Promise /*promise*/) noexcept {}
  /// The task is being freed: lets go of the objects that it refers to.
  virtual void forget() noexcept {}
  /// Bytes that a submitted task moves, as far as this side knows; for traces.
  virtual std::uint64_t size_in_flight() const noexcept { return 0; }
  // Contexts that trace messages (Context::trace_messages()) call these for tasks that a trace records.
  /// Numbers the message that the task sends, before it is submitted.
  virtual void number_message() noexcept {}
  /// The submission, which began then, had that outcome.
  virtual void message_submitted(Status /*status*/, std::uint64_t /*begin*/) noexcept {}
  /// The message is complete; called after finish().
  virtual void message_completed(Status /*status*/) noexcept {}

 private:
  friend class Context;
  friend class ProgressEngine;
  friend class detail::TaskPool;
  // What a completion does in place of the callback: bits of detour_.
  static constexpr std::uint8_t freed = 1;     ///< free() was called in flight
  static constexpr std::uint8_t observed = 2;  ///< observer_ is told, unless null
  static constexpr std::uint8_t recorded = 4;  ///< a trace records it; the callback follows

  /// Logs why a submission answered status, and returns it.
  [[gnu::cold, gnu::noinline]] Status refuse(Status status) const noexcept;
  Status submit_now(SubmitFlags flags) noexcept;
  [[gnu::cold, gnu::noinline]] Status submit_after_check(SubmitFlags flags) noexcept;
  [[gnu::noinline]] Status submit_recorded(SubmitFlags flags) noexcept;
  Status free_in_flight() noexcept;

  Context* context_;
  detail::TaskPool* pool_;
  std::uint64_t user_data_ = 0;
  Status status_ = Status::success;
  State state_ = State::free;
  std::uint8_t detour_ = 0;
  std::atomic<bool> handed_over_{false};  ///< given to submit_threadsafe, and not submitted yet
  union {
    Task* next_ = nullptr;  ///< the next one in the pool, or among those handed over
    Observer* observer_;    ///< while claimed, or submitted and observed
  };
};

}  // namespace pydoca

#pragma GCC visibility pop
