#include "library/sync_event/sync_event_context.hpp"

#include "pydoca/device_properties.hpp"
#include "pydoca/progress_engine.hpp"

#include "core/task_pool.hpp"
#include "core/violation.hpp"
#include "detail/concat.hpp"
#include "detail/system_reason.hpp"
#include "detail/text/enumerators.hpp"
#include "detail/time/turn_point.hpp"
#include "library/set_operand.hpp"
#include "library/sync_event/wait_mask.hpp"

#include <cerrno>
#include <sys/epoll.h>
#include <utility>

namespace pydoca {

namespace {

bool is_wait(SyncEventOperation operation) noexcept { return operation >= SyncEventOperation::wait_gt; }

static_assert(detail::max_greater_value == max_wait_gt_value);

/// value: the mask.
std::string wait_mask(const detail::Violation& violation, const DeviceInfo& /*device*/) {
  return detail::concat("mask must be 0, or 1, 2, 4 or 8 adjacent bytes of 0xFF, and is ",
                        detail::hex(violation.value));
}

/// value: what a wait_gt task waits for, or has met.
std::string wait_value(const detail::Violation& violation, const DeviceInfo& /*device*/) {
  return detail::concat(violation.operand, " is ", violation.value, ", and wait_gt tasks compare values up to ",
                        violation.allowed, "; wait with wait_eq or wait_neq");
}

/// A wait_gt task for value, or one that meets it.
detail::Violation too_large(const char* operand, std::uint64_t value) noexcept {
  return {.limit = wait_value, .operand = operand, .value = value, .allowed = max_wait_gt_value};
}

}  // namespace

/// Nearly every wait is for all bits, and needs no number.
bool is_wait_mask(std::uint64_t mask) noexcept {
  return mask == ~std::uint64_t{0} || library::group_of(mask) != library::no_group;
}

SyncEventTask::SyncEventTask(SyncEventContext& context, detail::TaskPool& pool, SyncEventOperation operation) noexcept
    : Task(context, pool), operation_(operation) {}

namespace {

library::SyncEventRoute route_of(SyncEventOperation operation, bool updates_take_time) noexcept {
  using library::SyncEventRoute;
  switch (operation) {
    case SyncEventOperation::get:
      return SyncEventRoute::get;
    case SyncEventOperation::notify_set:
      return updates_take_time ? SyncEventRoute::later : SyncEventRoute::set;
    case SyncEventOperation::notify_add:
      return updates_take_time ? SyncEventRoute::later : SyncEventRoute::add;
    default:
      return SyncEventRoute::later;
  }
}

}  // namespace

library::SyncEventTask::SyncEventTask(SyncEventContext& context, detail::TaskPool& pool, std::size_t kind) noexcept
    : pydoca::SyncEventTask(context, pool, static_cast<SyncEventOperation>(kind)),
      route_(route_of(operation(), context.updates_take_time())) {}

Status SyncEventTask::set_value(std::uint64_t value) noexcept { return detail::set_operand(*this, value_, value); }

Status SyncEventTask::set_mask(std::uint64_t mask) noexcept { return detail::set_operand(*this, mask_, mask); }

Status SyncEventTask::set_result_address(std::uint64_t* address) noexcept {
  return detail::set_operand(*this, address_, address);
}

bool library::SyncEventTask::breaks_limit(detail::Violation* why) const noexcept {
  if (is_wait(operation()) && !is_wait_mask(mask_)) {
    return detail::broken(why, {.limit = wait_mask, .operand = "mask", .value = mask_});
  }
  return operation() == SyncEventOperation::wait_gt && value_ > max_wait_gt_value &&
         detail::broken(why, too_large("the value to wait for", value_));
}

detail::WaitCondition library::SyncEventTask::condition() const noexcept {
  switch (operation()) {
    case SyncEventOperation::wait_gt:
      return detail::WaitCondition::greater;
    case SyncEventOperation::wait_neq:
      return detail::WaitCondition::unequal;
    default:
      return detail::WaitCondition::equal;
  }
}

Status library::SyncEventTask::outcome_of(std::uint64_t value) const noexcept {
  const bool exceeds = operation() == SyncEventOperation::wait_gt && (value & mask_) > max_wait_gt_value;
  return exceeds ? Status::io_failed : Status::success;
}

bool library::SyncEventTask::is_ended_by(std::uint64_t value) const noexcept {
  switch (operation()) {
    case SyncEventOperation::wait_gt:
      return (value & mask_) > value_;
    case SyncEventOperation::wait_neq:
      return (value & mask_) != value_;
    default:
      return (value & mask_) == value_;
  }
}

std::string library::SyncEventTask::explain(Status status) const {
  const bool is_update = operation() == SyncEventOperation::notify_set || operation() == SyncEventOperation::notify_add;
  if (const std::uint32_t rule = is_update && status == outcome_ ? failed_by() : 0; rule != 0) {
    return detail::explain_fault(rule);
  }
  switch (status) {
    case Status::connection_reset:
      return "the process at the other end is gone";
    case Status::not_connected:
      return this->status() == status ? std::string(explain_end()) : Task::explain(status);
    case Status::shutdown:
      return "it was cancelled, or flushed as its context stopped";
    case Status::io_failed:
      return explain_refusal();
    default:
      return Task::explain(status);
  }
}

std::string_view library::SyncEventTask::explain_end() const noexcept {
  const pydoca::SyncEvent& event = *static_cast<const pydoca::SyncEventContext&>(context()).event();
  return event.is_from_export() ? owner_left : importers_left;
}

std::string library::SyncEventTask::explain_refusal() const {
  detail::Violation violation;
  if (!breaks_limit(&violation)) {
    violation = too_large("the event's value, masked,", result_ & mask_);
  }
  return detail::explain(violation, context().device()->info());
}

Status library::SyncEventTask::post(bool /*flush*/) noexcept {
  static_cast<SyncEventContext&>(context()).post(*this);
  return Status::success;
}

std::uint32_t library::SyncEventTask::failed_by() const noexcept {
  const pydoca::SyncEvent& event = *static_cast<const pydoca::SyncEventContext&>(context()).event();
  return of(event).counter_ != nullptr ? of(event).counter_->failed_by(outcome_) : 0;
}

void library::SyncEventTask::finish(Status status) noexcept {
  if (status == Status::success && traits_of(operation()).answers_word && address_ != nullptr) {
    *address_ = result_;
  }
}

/// The event knows only that a context runs it.
std::shared_ptr<SyncEventContext> SyncEvent::as_context() {
  library::SyncEvent& own = library::of(*this);
  if (const std::shared_ptr<Context> context = own.context_.lock()) {
    return std::static_pointer_cast<library::SyncEventContext>(context);
  }
  if (own.phase() != library::SyncEvent::Phase::configuring) {
    throw Error(Status::bad_state,
                "sync event as context: it was started before, and its mode is for life; take the "
                "context of one that is not started");
  }
  own.require_locations("sync event as context");
  if (own.subscriber_ == SyncEventLocation::dpa) {
    throw Error(Status::not_supported,
                "sync event as context: an event whose subscriber is the DPA has the synchronous mode only");
  }
  auto context = detail::make_context<library::SyncEventContext>(shared_from_this());
  own.context_ = context;
  return context;
}

library::SyncEventContext::SyncEventContext(std::shared_ptr<pydoca::SyncEvent> event)
    : LibraryContext(std::move(event)) {}

SyncEventContext::SyncEventContext(std::shared_ptr<SyncEvent> event)
    : Context(event->device(), num_sync_event_operations), event_(std::move(event)) {}

library::SyncEventContext::~SyncEventContext() { abandon(); }

bool SyncEventContext::is_supported(const DeviceInfo& info, SyncEventOperation operation) noexcept {
  const auto& supported = info.capabilities().sync_event;
  return detail::is_one_of(operation, SyncEventOperation::wait_neq) && supported.has_value() &&
         (!is_wait(operation) || supported->async_wait);
}

std::uint32_t SyncEventContext::max_num_tasks(const DeviceInfo& info) {
  if (!info.capabilities().sync_event.has_value()) {
    throw Error(Status::not_supported, detail::concat("sync event: ", info.name(), " has none"));
  }
  return info.capabilities().sync_event->max_num_tasks;
}

void SyncEventContext::set_conf(SyncEventOperation operation, TaskCallback<SyncEventTask> on_success,
                                TaskCallback<SyncEventTask> on_error, std::uint32_t num_tasks) {
  detail::require_one_of("set conf", operation, SyncEventOperation::wait_neq, "kind of task");
  const std::string what = detail::concat("set conf of ", name_of(operation));
  if (state() != ContextState::idle) {
    throw Error(Status::not_permitted, detail::concat(what, ": the sync event's context is not idle; stop it first"));
  }
  if (!is_supported(device()->info(), operation)) {
    throw Error(Status::not_supported,
                detail::concat(what, ": ", device()->info().name(),
                               " has no asynchronous waits (BlueField-3, ConnectX-7 and newer have); get the value "
                               "with get tasks and compare, or wait synchronously"));
  }
  detail::ContextTasks::pool(*this, static_cast<std::size_t>(operation))
      .configure(what, on_success, on_error, num_tasks, max_num_tasks(device()->info()));
}

std::uint32_t SyncEventContext::num_tasks(SyncEventOperation operation) const noexcept {
  const bool is_known = detail::is_one_of(operation, SyncEventOperation::wait_neq);
  return is_known ? detail::ContextTasks::pool(*this, static_cast<std::size_t>(operation)).num_tasks() : 0;
}

Status SyncEventContext::allocate(SyncEventOperation operation, std::uint64_t value, std::uint64_t mask,
                                  std::uint64_t user_data, SyncEventTask*& task) noexcept {
  if (!detail::is_one_of(operation, SyncEventOperation::wait_neq)) [[unlikely]] {
    return Status::invalid_value;
  }
  const Status status = detail::ContextTasks::take(*this, static_cast<std::size_t>(operation), user_data, task);
  if (status == Status::success) [[likely]] {
    library::SyncEventTask& own = library::of(*task);
    own.value_ = value;
    own.mask_ = mask;
    own.address_ = nullptr;
  }
  return status;
}

Status library::SyncEventContext::begin() {
  if (own_event().phase() != SyncEvent::Phase::configuring) {
    throw Error(Status::bad_state, "start sync event: it was started before; an event is started once, then closed");
  }
  own_event().open_counter("start sync event");
  open_tasks();
  waits_ = std::make_unique<detail::WaitTable<SyncEventTask>>(num_tasks(SyncEventOperation::wait_gt) +
                                                              num_tasks(SyncEventOperation::wait_eq) +
                                                              num_tasks(SyncEventOperation::wait_neq));
  watch_counter();
  await_others();
  own_event().phase_.store(SyncEvent::Phase::asynchronous, std::memory_order_release);
  return Status::success;
}

void library::SyncEventContext::open_tasks() {
  updates_take_time_ = counter().leave_waiting_to_caller();
  if (detail::ContextTasks::open<SyncEventTask>(*this) == 0) {
    throw Error(Status::invalid_value, "start sync event: nothing is configured; give the conf of a task (set_conf)");
  }
  if (updates_take_time_) {
    timed_updates_ = std::make_unique<TimedUpdates>(*this, counter(), *device(), *progress_engine());
  }
}

void library::SyncEventContext::watch_counter() {
  progress_engine()->watch(counter().wake_fd(), EPOLLIN | EPOLLET, *this);
  if (counter().may_change_silently(event()->publisher() == SyncEventLocation::remote_net)) {
    auto timer = std::make_unique<detail::EventTimer>();
    if (!*timer) {
      throw Error(Status::operating_system, detail::concat("start sync event: ", detail::system_reason(errno)));
    }
    progress_engine()->watch(timer->fd(), EPOLLIN | EPOLLET, *this);
    timer_ = std::move(timer);
  }
}

void library::SyncEventContext::quiesce() noexcept {
  fail_waits(Status::shutdown);
  if (timed_updates_ != nullptr) {
    timed_updates_->end_all(Status::shutdown);
  }
}

void library::SyncEventContext::end() noexcept {
  stop_looking();
  leave_others();
  if (own_event().counter_ != nullptr && waits_ != nullptr) {
    progress_engine()->unwatch(counter().wake_fd());
    static_cast<void>(counter().withdraw());
  }
  if (timer_ != nullptr) {
    progress_engine()->unwatch(timer_->fd());
    timer_.reset();
  }
  if (own_event().phase() == SyncEvent::Phase::asynchronous) {
    own_event().phase_.store(SyncEvent::Phase::stopped, std::memory_order_release);
  }
  done_.clear();
  timed_updates_.reset();
  waits_.reset();
  detail::ContextTasks::close(*this);
}

void library::SyncEventContext::release() noexcept { own_event().release(); }

Status SyncEventContext::cancel(SyncEventTask& task) noexcept {
  return &task.context() == this ? library::of(*this).cancel(library::of(task)) : Status::bad_state;
}

Status library::SyncEventContext::cancel(SyncEventTask& task) noexcept {
  if (!task.pending_) {
    return Status::bad_state;
  }
  waits_->remove(task);
  append_done(task, Status::shutdown);
  return Status::success;
}

void library::SyncEventContext::append_done(SyncEventTask& task, Status outcome) noexcept {
  task.pending_ = false;
  task.outcome_ = outcome;
  done_.push(task);
  notify();
}

void library::SyncEventContext::post(SyncEventTask& task) noexcept {
  if (device()->removed()) [[unlikely]] {
    append_done(task, Status::driver);
    return;
  }
  switch (task.route_) {
    case SyncEventRoute::get:
      task.result_ = counter().load();
      append_done(task, event()->is_from_export() ? counter().failure(0) : Status::success);
      return;
    case SyncEventRoute::set:
      append_done(task, counter().store(task.value_));
      return;
    case SyncEventRoute::add:
      append_done(task, counter().fetch_add(task.value_, task.result_));
      return;
    case SyncEventRoute::later:
      if (task.operation() > SyncEventOperation::notify_add) {
        post_wait(task);
      } else {
        timed_updates_->begin(task);
      }
  }
}

void library::SyncEventContext::post_wait(SyncEventTask& task) noexcept {
  if (task.breaks_limit(nullptr)) [[unlikely]] {
    append_done(task, Status::io_failed);
    return;
  }
  // The table compares all of them with the same value.
  collect();
  if (task.is_ended_by(last_)) {
    task.result_ = last_;
    append_done(task, task.outcome_of(last_));
    return;
  }
  task.group_ = library::group_of(task.mask_);
  waits_->insert(task);
  task.pending_ = true;
  expect_change();
}

/// Moves the waits that the counter's value ends to those done.
void library::SyncEventContext::collect() noexcept {
  const std::uint64_t value = counter().load();
  if (value != last_ && !waits_->empty()) {
    waits_->collect(value, [this, value](SyncEventTask& task) {
      task.result_ = value;
      append_done(task, task.outcome_of(value));
    });
  }
  last_ = value;
}

void library::SyncEventContext::fail_waits(Status status) noexcept {
  waits_->collect_all([this, status](SyncEventTask& task) { append_done(task, status); });
  stop_looking();
}

bool library::SyncEventContext::look() noexcept {
  const bool changed = counter().load() != last_;
  if (changed && timer_ != nullptr) {
    timer_->hurry();
  }
  return note_look(changed);
}

void library::SyncEventContext::prepare_sleep() noexcept {
  detail::turn_point();
  counter().arm();
  detail::turn_point();
  if (counter().load() != last_ && !detail::is_planted(detail::Mistake::no_second_look)) {
    notify();
  } else if (const Status failure = own_event().failure(counter().losses_told()); failure != Status::success) {
    fail_waits(failure);  // the peer ended when no task waited
  } else if (timer_ != nullptr) {
    timer_->start();
  }
}

bool library::SyncEventContext::poll_one(bool& more) noexcept {
  if (!waits_->empty()) {
    collect_or_fail();
  }
  SyncEventTask* const task = done_.pop();
  if (task == nullptr) {
    return false;
  }
  more = !done_.empty();
  // A lost peer or a cancelled wait is not a failure of the device.
  complete(*task, task->outcome_, task->outcome_ == Status::driver || task->outcome_ == Status::io_failed);
  return true;
}

/// Somebody rang, or changed the counter, or has died.
void library::SyncEventContext::collect_or_fail() noexcept {
  collect();
  if (waits_->empty()) {
    stop_looking();
    return;
  }
  const Status failure = device()->removed() ? Status::driver : own_event().failure(counter().losses_told());
  if (failure != Status::success) {
    collect();  // the last thing that a peer did before its end may be what is waited for
    fail_waits(failure);
    return;
  }
  keep_looking();
}

}  // namespace pydoca
