#include "library/sync_event/timed_updates.hpp"

#include "pydoca/backend/device.hpp"
#include "pydoca/progress_engine.hpp"

#include "detail/concat.hpp"
#include "detail/system_reason.hpp"
#include "detail/time/time.hpp"

#include <cerrno>
#include <sys/epoll.h>
#include <utility>

namespace pydoca::library {

TimedUpdates::TimedUpdates(UpdateOwner& owner, backend::Counter& counter, Device& device, ProgressEngine& engine)
    : owner_(owner), counter_(counter), device_(device), engine_(engine) {
  if (!timer_) {
    throw Error(Status::operating_system, detail::concat("start sync event: ", detail::system_reason(errno)));
  }
  engine_.watch(timer_.fd(), EPOLLIN, *this);
  join(engine_.ready_list());
  device_.backend().watch_removal(*this);
}

TimedUpdates::~TimedUpdates() {
  device_.backend().unwatch_removal(*this);
  engine_.unwatch(timer_.fd());
  leave();
}

void TimedUpdates::begin(SyncEventTask& task) noexcept {
  task.due_ = counter_.due_of_update(task.adds());
  tasks_.push(task);
  begin_looking();
}

bool TimedUpdates::is_due() const noexcept {
  return !tasks_.empty() && (first_due() <= detail::now() || device_.removed());
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
  owner_.updated(task, device_.removed() ? Status::driver : update(task));
  more = true;
  return true;
}

Status TimedUpdates::update(SyncEventTask& task) noexcept {
  return task.adds() ? counter_.fetch_add(task.value_, task.result_) : counter_.store(task.value_);
}

void TimedUpdates::end_all(Status status) noexcept {
  while (SyncEventTask* const task = tasks_.pop()) {
    owner_.updated(*task, status);
  }
  stop_looking();
}

}  // namespace pydoca::library
