#include "pydoca/task.hpp"

#include "pydoca/context.hpp"
#include "pydoca/log.hpp"
#include "pydoca/progress_engine.hpp"

#include "core/task_observer.hpp"
#include "core/task_pool.hpp"
#include "core/thread_check.hpp"
#include "core/violation.hpp"
#include "detail/concat.hpp"
#include "detail/thread/thread_token.hpp"
#include "detail/trace/recorder.hpp"

namespace pydoca {

[[gnu::always_inline]] inline Status Task::submit_now(SubmitFlags flags) noexcept {
  Context& context = *context_;
  if (context.state_ != ContextState::running || state_ != State::idle || handed_over_.load(std::memory_order_relaxed))
      [[unlikely]] {
    return refuse(Status::bad_state);
  }
  if (!detail::is_this_thread(context.engine_->owner_)) [[unlikely]] {
    return submit_after_check(flags);
  }
  const Status status = post(has(flags, SubmitFlags::flush));
  if (status != Status::success) [[unlikely]] {
    return refuse(status);
  }
  state_ = State::submitted;
  status_ = Status::in_progress;
  context.counts_.submit();
  context.engine_counts_->submit();
  return Status::success;
}

Status Task::submit(SubmitFlags flags) noexcept {
  if (detail::trace::is_recording()) [[unlikely]] {
    return submit_recorded(flags);
  }
  return submit_now(flags);
}

/// An engine may take over the thread; the fast check then succeeds.
Status Task::submit_after_check(SubmitFlags flags) noexcept {
  const Status thread = context_->engine_->check_thread();
  return thread == Status::success ? submit_now(flags) : refuse(thread);
}

/// A completion of the task then takes the way of a detour, so that completions that no trace records pay nothing.
Status Task::submit_recorded(SubmitFlags flags) noexcept {
  const std::uint64_t begin = detail::trace::ticks();
  const bool has_message = context_->traces_messages_ && state_ == State::idle;
  if (has_message) [[unlikely]] {
    number_message();
  }
  const Status status = submit_now(flags);
  if (status == Status::success) [[likely]] {
    detour_ = static_cast<std::uint8_t>(detour_ | recorded);
  }
  const std::uint64_t size = status == Status::success ? size_in_flight() : 0;
  context_->record(*this, TraceEventKind::submit, status, begin, size);
  if (has_message) [[unlikely]] {
    message_submitted(status, begin);
  }
  return status;
}

Status Task::refuse(Status status) const noexcept {
  // A full queue is how fast programs learn to wait.
  const log::Level level = status == Status::again ? log::Level::trace : log::Level::debug;
  log::engine(level, context_->kind(),
              [&] { return detail::concat("refused a task: ", status, ": ", explain(status)); });
  return status;
}

Status Task::try_submit(SubmitFlags flags) noexcept {
  if (state_ == State::idle && breaks_limit(nullptr)) {
    return refuse(Status::invalid_value);
  }
  return submit(flags);
}

std::string Task::explain(Status status) const {
  switch (status) {
    case Status::invalid_value: {
      detail::Violation violation;
      breaks_limit(&violation);
      return detail::explain(violation, context_->device()->info());
    }
    case Status::not_permitted:
      return context_->engine_->describe_thread();
    case Status::in_use:
      return "another task is filling the same destination; wait for its completion";
    case Status::bad_state:
      if (state_ == State::submitted || handed_over_.load(std::memory_order_relaxed)) {
        return "it is in flight; wait for its completion";
      }
      if (state_ == State::free) {
        return "it is freed; take another task";
      }
      if (state_ == State::claimed) {
        return "it belongs to an instance of a graph that is running; wait for its end";
      }
      return context_->state() == ContextState::running ? context_->engine_->describe_thread()
                                                        : context_->explain_not_running();
    case Status::again:
      return "the queue is full; progress, then try again";
    case Status::shutdown:
      return "it was flushed, as its context stopped before the device began it";
    case Status::driver:
      return detail::explain_driver_failure(*context_->device());
    default:
      return std::string(error_descr(status));
  }
}

Status Task::free() noexcept {
  if (const Status thread = detail::check_thread_of(*context_); thread != Status::success) [[unlikely]] {
    return thread;
  }
  if (state_ == State::submitted) {
    return free_in_flight();
  }
  if (state_ == State::free) {
    return Status::bad_state;
  }
  if (handed_over_.load(std::memory_order_relaxed)) [[unlikely]] {
    return Status::in_use;
  }
  if (state_ == State::claimed) {
    promise_operands(-1, detail::Promise::claim);
    observer_->freed(*this);
  }
  state_ = State::free;
  forget();
  pool_->put(*this);
  detail::ContextTasks::freed(*context_);
  return Status::success;
}

Status Task::free_in_flight() noexcept {
  if (context_->state_ != ContextState::stopping) {
    return Status::in_use;
  }
  if ((detour_ & freed) != 0) {
    return Status::bad_state;
  }
  detour_ = static_cast<std::uint8_t>(detour_ | freed);
  return Status::success;
}

}  // namespace pydoca
