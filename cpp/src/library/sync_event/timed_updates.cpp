#include "library/sync_event/timed_updates.hpp"

#include "pydoca/backend/device.hpp"
#include "pydoca/progress_engine.hpp"

#include "detail/concat.hpp"
#include "detail/system_reason.hpp"
#include "detail/time/time.hpp"
#include "library/sync_event/sync_event_context.hpp"

#include <cerrno>
#include <sys/epoll.h>
#include <utility>

namespace pydoca::library {

TimedUpdates::TimedUpdates(SyncEventContext& context, backend::Counter& counter)
    : context_(context), counter_(counter) {
  if (!timer_) {
    throw Error(Status::operating_system, detail::concat("start sync event: ", detail::system_reason(errno)));
  }
  ProgressEngine& engine = *context_.progress_engine();
  engine.watch(timer_.fd(), EPOLLIN, *this);
  join(engine.ready_list());
  context_.device()->backend().watch_removal(*this);
}

TimedUpdates::~TimedUpdates() {
  context_.device()->backend().unwatch_removal(*this);
  context_.progress_engine()->unwatch(timer_.fd());
  leave();
}

void TimedUpdates::begin(TimedSyncEventTask& task) noexcept {
  task.due_ = counter_.due_of_update(task.adds());
  tasks_.push(task);
  begin_looking();
}

bool TimedUpdates::is_due() const noexcept {
  return !tasks_.empty() && (first_due() <= detail::now() || context_.device()->removed());
}

bool TimedUpdates::look() noexcept { return is_due(); }

void TimedUpdates::prepare_sleep() noexcept {
  if (is_due()) {
    notify();
  } else if (!tasks_.empty()) {
    timer_.set(first_due());
    is_set_ = true;
  }
}

bool TimedUpdates::progress_one(bool& more) noexcept {
  if (std::exchange(is_set_, false)) {
    timer_.clear();
  }
  if (!is_due()) {
    more = false;
    tasks_.empty() ? stop_looking() : keep_looking();
    return false;
  }
  SyncEventTask& task = *tasks_.pop();
  context_.append_done(task, context_.device()->removed() ? Status::driver : context_.update(task));
  more = true;
  return true;
}

void TimedUpdates::end_all(Status status) noexcept {
  while (SyncEventTask* const task = tasks_.pop()) {
    context_.append_done(*task, status);
  }
  stop_looking();
}

}  // namespace pydoca::library
