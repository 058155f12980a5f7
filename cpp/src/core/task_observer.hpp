#pragma once

#include "pydoca/status.hpp"
#include "pydoca/task.hpp"

namespace pydoca::detail {

/// Submits tasks and hears of their completions, in place of the callbacks of their context.
class TaskObserver {
 public:
  TaskObserver(const TaskObserver&) = delete;
  TaskObserver& operator=(const TaskObserver&) = delete;

  /// Called by progress(); the task is idle, and its bufs are free.
  virtual void completed(Task& task, Status status) noexcept = 0;

 protected:
  TaskObserver() = default;
  ~TaskObserver() = default;

  /// Task::try_submit(). success: completed() follows, by progress().
  [[nodiscard]] Status submit(Task& task) noexcept {
    const Status status = task.try_submit();
    if (status == Status::success) [[likely]] {
      task.detour_ = static_cast<std::uint8_t>(task.detour_ | Task::observed);
      task.observer_ = this;
    }
    return status;
  }
  /// The completion of a task that this one submitted is delivered to nobody.
  static void forget(Task& task) noexcept { task.observer_ = nullptr; }
};

}  // namespace pydoca::detail
