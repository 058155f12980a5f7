#pragma once

#include "pydoca/status.hpp"
#include "pydoca/task.hpp"

#include <atomic>
#include <cstdint>

namespace pydoca {

/// Claims tasks, submits them when it is their turn, and hears of their completions, in place of the callbacks of their
/// context.
class Task::Observer {
 public:
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;

  /// Called by progress(); the task is idle, and its bufs are free.
  virtual void completed(Task& task, Status status) noexcept = 0;
  /// The program has freed the task, which is gone.
  virtual void freed(Task& task) noexcept = 0;

 protected:
  Observer() = default;
  ~Observer() = default;

  /// From now on only this one can submit the task, until it completes or is given back. bad_state unless it is idle.
  [[nodiscard]] Status claim(Task& task) noexcept {
    if (task.state_ != Task::State::idle || task.handed_over_.load(std::memory_order_relaxed)) {
      return Status::bad_state;
    }
    task.state_ = Task::State::claimed;
    task.observer_ = this;
    task.promise_operands(1, detail::Promise::claim);
    return Status::success;
  }
  /// Task::try_submit() of a task that was claimed. success: completed() follows, by progress(). After again it is
  /// still claimed, after any other status idle.
  [[nodiscard]] Status submit(Task& task) noexcept {
    task.state_ = Task::State::idle;
    const Status status = task.try_submit();
    if (status == Status::success) [[likely]] {
      task.detour_ = static_cast<std::uint8_t>(task.detour_ | Task::observed);
    } else if (status == Status::again) {
      task.state_ = Task::State::claimed;
      return status;
    }
    task.promise_operands(-1, detail::Promise::claim);
    return status;
  }
  /// Gives the task back, if this one has claimed it and not submitted it.
  void unclaim(Task& task) noexcept {
    if (task.state_ == Task::State::claimed && task.observer_ == this) {
      task.state_ = Task::State::idle;
      task.promise_operands(-1, detail::Promise::claim);
    }
  }
  /// The completion of a task that this one submitted is not delivered.
  static void forget(Task& task) noexcept { task.observer_ = nullptr; }
};

}  // namespace pydoca
