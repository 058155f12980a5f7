#pragma once

#include "pydoca/status.hpp"
#include "pydoca/types.hpp"

#include <atomic>
#include <cstdint>
#include <string>

namespace pydoca::detail {
enum class Limit : std::uint8_t;
class TaskPool;
struct Violation;
}  // namespace pydoca::detail

namespace pydoca {

class Context;
class ProgressEngine;

/// A unit of work, a slot of its context's pool (DOCA Core: struct doca_task). Taken from the context, submitted,
/// completed by a callback from ProgressEngine::progress(), then submitted again or freed. Between a successful submit
/// and its callback the engine has the task and its bufs. Nothing here allocates. Same thread as its progress engine.
class Task {
 public:
  using Callback = void (*)(Task& task, std::uint64_t task_user_data, std::uint64_t context_user_data);
  enum class State : std::uint8_t {
    free,       ///< in the pool
    idle,       ///< the caller's: allocated, or completed
    submitted,  ///< the engine's
  };

  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

  /// Hands the task over without looking at its fields: a fault in them is a failed completion, which stops the
  /// context. bad_state unless the context is running and the task idle, again when the queue is full, in_use when
  /// another task is filling the destination, not_permitted in a thread that is not the progress engine's. After a
  /// failure the task is still the caller's.
  [[nodiscard]] Status submit(SubmitFlags flags = SubmitFlags::flush) noexcept;
  /// The same after validating the fields: invalid_value for what would fail in the device.
  [[nodiscard]] Status try_submit(SubmitFlags flags = SubmitFlags::flush) noexcept;
  /// Gives the slot back; in_use between submit (or ProgressEngine::submit_threadsafe) and completion. The context
  /// reaches idle when every slot is back.
  Status free() noexcept;

  /// Why submission answers status, or why the task failed with it: one sentence that names the object, the limit and
  /// the values, and says what to do. Looks at the operands as they are, so call it before they change.
  virtual std::string explain(Status status) const;

  State state() const noexcept { return state_; }
  /// Of the last completion: success, or why it failed. in_progress while submitted.
  Status status() const noexcept { return status_; }
  Context& context() const noexcept { return *context_; }
  std::uint64_t user_data() const noexcept { return user_data_; }
  void set_user_data(std::uint64_t data) noexcept { user_data_ = data; }

 protected:
  /// pool is the one that makes this task.
  Task(Context& context, detail::TaskPool& pool) noexcept : context_(&context), pool_(&pool) {}
  virtual ~Task() = default;

  /// The first limit that the operands break, so that the operation would fail in the device; Limit::none when all
  /// hold. why, unless null, receives the details.
  virtual detail::Limit check(detail::Violation* why) const noexcept = 0;
  /// Takes hold of the bufs and posts to the queue.
  virtual Status post(bool flush) noexcept = 0;
  /// Lets go of the bufs and updates them, before the callback.
  virtual void finish(Status status) noexcept = 0;
  /// The task is being freed: lets go of the objects that it refers to.
  virtual void reset() noexcept {}

 private:
  friend class Context;
  friend class ProgressEngine;
  friend class detail::TaskPool;

  Context* context_;
  detail::TaskPool* pool_;
  std::uint64_t user_data_ = 0;
  Status status_ = Status::success;
  State state_ = State::free;
  std::atomic<bool> handed_over_{false};  ///< to submit_threadsafe, and not submitted yet
  Task* next_ = nullptr;                  ///< in the pool, or among those handed over
};

}  // namespace pydoca
