#include "pydoca/task.hpp"

#include "pydoca/context.hpp"

namespace pydoca {

Status Task::submit(SubmitFlags flags) noexcept { return context_->submit(*this, flags); }

Status Task::try_submit(SubmitFlags flags) noexcept {
  if (state_ == State::idle) {
    const Status valid = validate();
    if (valid != Status::success) {
      return valid;
    }
  }
  return context_->submit(*this, flags);
}

Status Task::free() noexcept {
  if (state_ != State::idle) {
    return state_ == State::submitted ? Status::in_use : Status::bad_state;
  }
  if (handed_over_.load(std::memory_order_relaxed)) [[unlikely]] {
    return Status::in_use;
  }
  state_ = State::free;
  recycle();
  context_->task_freed();
  return Status::success;
}

}  // namespace pydoca
