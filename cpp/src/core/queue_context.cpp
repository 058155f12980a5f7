#include "pydoca/queue_context.hpp"

#include "pydoca/log.hpp"
#include "pydoca/progress_engine.hpp"

#include <sys/epoll.h>
#include <thread>
#include <utility>

namespace pydoca {

QueueContext::QueueContext(std::shared_ptr<Device> device, std::size_t num_task_kinds)
    : Context(std::move(device), num_task_kinds) {}

QueueContext::~QueueContext() = default;

void QueueContext::open_queue(std::unique_ptr<backend::Queue> queue, bool always_looked_at) {
  queue_ = std::move(queue);
  looked_at_ = queue_->fd() >= 0;
  if (looked_at_ && always_looked_at) {
    keep_looking();
  }
}

void QueueContext::flush_tasks() noexcept {
  if (queue_ != nullptr) {
    queue_->flush();
  }
}

backend::Operation* QueueContext::poll_queue(bool& more) noexcept {
  stop_dozing();
  backend::Operation* const operation = queue_->poll(more);
  if (looked_at_ && num_inflight_tasks() == (operation != nullptr ? 1U : 0U)) {
    stop_looking();
  }
  return operation;
}

void QueueContext::quiesce() noexcept { queue_->abort(); }

void QueueContext::end() noexcept {
  if (queue_ != nullptr) {
    reclaim_tasks();
  }
  close_queue();
}

void QueueContext::reclaim_tasks() noexcept {
  queue_->abort();
  for (std::size_t left = num_inflight_tasks(); left > 0;) {
    bool more = false;
    if (backend::Operation* const operation = queue_->poll(more)) {
      take_back(task_of(*operation), operation->status);
      --left;
    } else if (!queue_->assist()) {
      std::this_thread::yield();
    }
  }
}

void QueueContext::close_queue() noexcept {
  stop_looking();
  dozes_ = false;
  if (std::exchange(watched_, false)) {
    progress_engine()->unwatch(queue_->fd());
  }
  queue_.reset();
  looked_at_ = false;
  close_pools();
}

bool QueueContext::assist() noexcept { return queue_ != nullptr && queue_->assist(); }

bool QueueContext::look() noexcept { return note_look(queue_->look()); }

void QueueContext::start_looking() noexcept {
  if (std::exchange(watched_, false)) {
    progress_engine()->unwatch(queue_->fd());
  }
  dozes_ = false;
  keep_looking();
}

void QueueContext::prepare_sleep() noexcept {
  dozes_ = true;
  try {
    progress_engine()->watch(queue_->fd(), EPOLLIN, *this);
    watched_ = true;
  } catch (const Error& error) {
    log::engine(log::Level::error, kind(), error.what());
    notify();  // it must not sleep, then
    return;
  }
  queue_->arm();
  if (queue_->look()) {
    notify();
  }
}

}  // namespace pydoca
