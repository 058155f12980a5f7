#include "pydoca/task.hpp"

#include "pydoca/context.hpp"
#include "pydoca/progress_engine.hpp"

#include "detail/thread_token.hpp"

namespace pydoca {

Status Task::submit(SubmitFlags flags) noexcept {
  Context& context = *context_;
  if (context.state_ != ContextState::running || state_ != State::idle || handed_over_.load(std::memory_order_relaxed))
      [[unlikely]] {
    return Status::bad_state;
  }
  if (!detail::is_this_thread(context.engine_->owner_)) [[unlikely]] {
    return context.engine_->check_thread() == Status::success ? submit(flags) : Status::not_permitted;
  }
  const Status status = post(has(flags, SubmitFlags::flush));
  if (status == Status::success) [[likely]] {
    state_ = State::submitted;
    status_ = Status::in_progress;
    ++context.inflight_;
    ++*context.engine_inflight_;
  }
  return status;
}

Status Task::try_submit(SubmitFlags flags) noexcept {
  if (state_ == State::idle) {
    const Status valid = validate();
    if (valid != Status::success) {
      return valid;
    }
  }
  return submit(flags);
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
