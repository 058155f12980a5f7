#include "pydoca/context.hpp"

#include "pydoca/backend/device.hpp"
#include "pydoca/log.hpp"
#include "pydoca/progress_engine.hpp"

#include "core/context_node.hpp"
#include "core/task_observer.hpp"
#include "core/task_pool.hpp"
#include "detail/concat.hpp"
#include "detail/drops.hpp"
#include "detail/ready_list.hpp"
#include "detail/thread/thread_token.hpp"
#include "detail/trace/recorder.hpp"

#include <new>
#include <utility>

namespace pydoca {

namespace {

constexpr std::string_view name_of(ContextState state) noexcept {
  constexpr std::string_view names[] = {"idle", "starting", "running", "stopping"};
  return names[static_cast<std::size_t>(state)];
}

constexpr std::string_view advice_to_become_idle(ContextState state) noexcept {
  return state == ContextState::stopping ? "free its tasks, and progress until it is idle"
                                         : "stop it, and progress until it is idle";
}

}  // namespace

Context::Context(std::shared_ptr<Device> device, std::size_t num_task_kinds)
    : device_(std::move(device), DeviceUser::context),
      pools_(std::make_unique<detail::TaskPool[]>(num_task_kinds)),
      num_pools_(num_task_kinds) {
  for (std::size_t kind = 0; kind < num_pools_; ++kind) {
    pools_[kind].set_number(static_cast<std::uint8_t>(kind));
  }
}

Context::~Context() {
  if (engine_ != nullptr && !closed_) {
    --engine_->num_contexts_;
  }
}

Status Context::start() {
  if (engine_ == nullptr) {
    throw Error(Status::not_connected, detail::concat("start ", kind(), ": connect it to a progress engine first"));
  }
  require_idle("start");
  engine_->require_thread("start", kind());
  const detail::Drops::Call call(engine_->ready_list().drops());
  failure_ = Status::success;
  failure_reason_.clear();
  live_ = true;
  Status status = Status::success;
  try {
    status = node_->begin();
    device_->backend().watch_removal(*node_);
  } catch (...) {
    live_ = false;
    node_->end();
    throw;
  }
  enter(status == Status::success ? ContextState::running : ContextState::starting);
  return status;
}

Status Context::stop() {
  if (state_ == ContextState::idle) {
    return Status::success;
  }
  engine_->require_thread("stop", kind());
  detail::Drops& drops = engine_->ready_list().drops();
  const detail::Drops::Call call(drops);
  const ContextState previous = state_;
  if (previous != ContextState::stopping) {
    quiesce();
  }
  if (can_settle() && !drops.is_progressing()) {
    become_idle(previous);
    return Status::success;
  }
  if (previous != ContextState::stopping) {
    announce(previous);
  }
  detail::ContextTasks::settle(*this);
  return state_ == ContextState::idle ? Status::success : Status::in_progress;
}

void Context::close() {
  if (closed_) {
    return;
  }
  if (state_ != ContextState::idle) {
    throw Error(node_->refuses_close(), detail::concat("close ", kind(), " on ", device_->info().name(), ": it is ",
                                                       name_of(state_), "; ", advice_to_become_idle(state_)));
  }
  const auto kept = weak_from_this().lock();  // a sink of the log may drop it
  closed_ = true;
  log::engine(log::Level::debug, kind(), [&] { return detail::concat(device_->info().name(), ": closed"); });
  node_->release();
  device_.release();
  node_->leave();
  if (engine_ != nullptr) {
    --engine_->num_contexts_;
  }
}

void Context::require_idle(std::string_view what) const {
  if (closed_) {
    throw Error(Status::bad_state, detail::concat(what, " ", kind(), ": it is closed; make another"));
  }
  if (state_ != ContextState::idle) {
    throw Error(Status::bad_state, detail::concat(what, " ", kind(), " on ", device_->info().name(), ": it is ",
                                                  name_of(state_), "; ", advice_to_become_idle(state_)));
  }
}

void Context::enter(ContextState next) noexcept { announce(std::exchange(state_, next)); }

void Context::announce(ContextState previous) noexcept {
  log::engine(log::Level::debug, kind(), [&] {
    const std::string cause =
        failure_ == Status::success ? "" : detail::concat(" after ", failure_, ": ", failure_reason());
    return detail::concat(device_->info().name(), ": ", name_of(previous), " -> ", name_of(state_), cause);
  });
  if (detail::trace::is_recording()) [[unlikely]] {
    const auto states = static_cast<std::uint8_t>(previous);
    detail::trace::record(
        detail::trace::ticks(),
        detail::trace::pack(TraceEventKind::state, states, static_cast<std::uint16_t>(failure_), trace_name()), 0,
        static_cast<std::uint64_t>(state_));
  }
  if (state_changed_ != nullptr) {
    state_changed_(user_data_, *this, previous, state_);
  }
}

void Context::request_progress() noexcept { node_->notify(); }

void Context::started() noexcept {
  if (state_ == ContextState::starting) {
    enter(ContextState::running);
  }
}

void Context::task_failed(const Task& task, Status status, bool fatal) noexcept {
  count_failure(status);
  if (!fatal || state_ != ContextState::running) {
    return;
  }
  log::engine(log::Level::debug, kind(),
              [&] { return detail::concat("a task failed: ", status, ": ", task.explain(status)); });
  fail(status);
}

std::string Context::failure_reason() const {
  return failure_ == Status::success || !failure_reason_.empty() ? failure_reason_ : std::string(error_descr(failure_));
}

void Context::explain_failure(std::string reason) {
  if (failure_ != Status::success && failure_reason_.empty()) {
    failure_reason_ = std::move(reason);
  }
}

void Context::fail(Status status, std::string_view reason) noexcept {
  if (state_ != ContextState::running && state_ != ContextState::starting) {
    return;
  }
  failure_ = status;
  try {
    failure_reason_ = reason;
  } catch (const std::bad_alloc&) {
    failure_reason_.clear();
  }
  const ContextState previous = state_;
  quiesce();
  announce(previous);
  detail::ContextTasks::settle(*this);
}

void Context::quiesce() noexcept {
  state_ = ContextState::stopping;
  node_->quiesce();
}

void Context::complete(Task& task, Status status, bool fatal) noexcept { complete_as(task, status, fatal); }

void Context::complete_aside(Task& task) noexcept {
  const std::uint8_t detour = std::exchange(task.detour_, std::uint8_t{0});
  if (detour == Task::recorded) [[likely]] {
    task.context_->record_completion(task);
    task.pool_->callback(task.status_)(task, task.user_data_, task.context_->user_data_);
    return;
  }
  if (detour == Task::observed) [[likely]] {
    if (task.observer_ != nullptr) {
      task.observer_->completed(task, task.status_);
    }
    return;
  }
  complete_aside_slowly(task, detour);
}

void Context::complete_aside_slowly(Task& task, std::uint8_t detour) noexcept {
  if ((detour & Task::recorded) != 0) {
    task.context_->record_completion(task);
  }
  Task::Observer* const observer = (detour & Task::observed) != 0 ? task.observer_ : nullptr;
  const Status status = task.status_;
  if ((detour & Task::freed) != 0) {
    static_cast<void>(task.free());  // idle now
  }
  if (observer == nullptr) {
    return;
  }
  if ((detour & Task::freed) != 0) {
    observer->freed(task);
  }
  observer->completed(task, status);
}

/// The recording may have ended meanwhile.
inline void Context::record_completion(Task& task) noexcept {
  if (detail::trace::is_recording()) [[likely]] {
    record(task, TraceEventKind::complete, task.status_, detail::trace::ticks(), 0);
  }
  if (traces_messages_) [[unlikely]] {
    task.message_completed(task.status_);
  }
}

std::uint32_t Context::add_trace_names() const noexcept {
  const std::uint32_t name = detail::trace::add_name(TraceNameKind::context, kind(), device_->trace_name());
  for (std::size_t number = 0; name != 0 && number < num_pools_; ++number) {
    detail::trace::add_name(TraceNameKind::task, node_->task_name(number), name, static_cast<std::uint32_t>(number));
  }
  return name;
}

bool Context::can_settle() const noexcept { return counts_.inflight() == 0 && allocated_ == 0 && node_->quiesced(); }

void Context::become_idle(ContextState previous) noexcept {
  live_ = false;
  device_->backend().unwatch_removal(*node_);
  node_->end();
  state_ = ContextState::idle;
  announce(previous);
}

void Context::abandon() noexcept {
  if (!live_) {
    return;
  }
  live_ = false;
  engine_->take_back(*this);
  // A forked child has no threads that would give back what is in flight.
  if (engine_->forks_ == detail::fork_count()) {
    device_->backend().unwatch_removal(*node_);
    node_->end();
  }
  engine_counts_->cancel(counts_.inflight());
  counts_.cancel(counts_.inflight());
}

std::string Context::explain_allocation(Status status, std::size_t kind, std::string_view name) const {
  const std::string what = std::string(this->kind()) + " " + std::string(name) + ": ";
  const std::uint32_t num_tasks = kind < num_pools_ ? pools_[kind].num_tasks() : 0;
  if (status == Status::no_memory && num_tasks == 0) {
    return what +
           "the context has no such tasks; configure their number before it starts (num_tasks), on a device "
           "that has them";
  }
  if (status == Status::no_memory) {
    return what + "every one of the context's " + std::to_string(num_tasks) +
           " tasks is taken; wait for one and drop or free() it, or give the context a larger num_tasks";
  }
  if (status == Status::not_connected) {
    return what + "the connection is not established, or has ended";
  }
  return what + (status == Status::bad_state ? explain_not_running() : std::string(error_descr(status)));
}

std::string Context::explain_not_running() const {
  if (closed_) {
    return "its context is closed; make a new one";
  }
  const std::string cause = failure_ == Status::success
                                ? ""
                                : detail::concat(" because of a failure (", failure_, ": ", failure_reason(), ")");
  switch (state_) {
    case ContextState::starting:
      return "its context is starting; progress until it is running";
    case ContextState::stopping:
      return detail::concat("its context is stopping", cause,
                            "; free its tasks, progress until it is idle, and start it again");
    default:
      return cause.empty() ? "its context is not running; start it first"
                           : detail::concat("its context has stopped", cause, "; start it again");
  }
}

void Context::count_failure(Status status) noexcept {
  counts_.fail(status);
  engine_counts_->fail(status);
}

void Context::reject(Task& task, Status status) noexcept {
  for (detail::TaskCounts* const counts : {&counts_, engine_counts_}) {
    counts->submit();
    counts->end();
  }
  count_failure(status);
  task.status_ = status;
  task.pool_->callback(status)(task, task.user_data_, user_data_);
}

bool Context::finish_stopping(bool& more) noexcept {
  if (state_ != ContextState::stopping || !can_settle()) {
    return false;
  }
  become_idle(ContextState::stopping);
  more = false;
  return true;
}

}  // namespace pydoca
