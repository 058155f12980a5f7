#pragma once

#include "pydoca/backend/queue.hpp"
#include "pydoca/log.hpp"
#include "pydoca/progress_engine.hpp"

#include "library/library_context.hpp"

#include <cstddef>
#include <memory>
#include <sys/epoll.h>
#include <thread>
#include <utility>

namespace pydoca::detail {

/// A context whose tasks are operations of one queue of its device, as in most of DOCA's libraries. Noun is the
/// library's public class.
///
/// How its engine learns of completions: a queue without a descriptor notifies. A queue with a descriptor is looked at
/// while the engine polls and a task is in flight, or always where peers send by themselves; its descriptor is watched,
/// and the queue armed, only while the engine sleeps or after thousands of looks in vain, as a watched descriptor costs
/// a polling engine a system call now and then.
template <class Noun>
class QueueContext : public LibraryContext<Noun> {
 public:
  void flush_tasks() noexcept override {
    if (queue_ != nullptr) {
      queue_->flush();
    }
  }

 protected:
  using LibraryContext<Noun>::LibraryContext;

  /// Opens the queue; begin() calls it. A queue that has more to tell than the completions of tasks in flight is
  /// always_looked_at.
  void open_queue(std::unique_ptr<backend::Queue> queue, bool always_looked_at = false) {
    queue_ = std::move(queue);
    looked_at_ = queue_->fd() >= 0;
    if (looked_at_) {
      this->await_others();
    }
    if (looked_at_ && always_looked_at) {
      this->begin_looking();
    }
  }
  /// Null unless open.
  backend::Queue* queue() const noexcept { return queue_.get(); }
  /// The task whose operation the queue gave back.
  virtual Task& task_of(backend::Operation& operation) const noexcept = 0;

  /// A task was posted. A queue that dozes is armed, and announces its completion. Any other queue is looked at from
  /// now on; an engine that is armed wakes for it once, and arms the queue before its next sleep.
  void expect_completion() noexcept {
    if (looked_at_ && !dozes_) {
      this->begin_looking();
    }
  }
  /// Called before the queue is polled.
  void stop_dozing() noexcept {
    if (dozes_) [[unlikely]] {
      start_looking();
    }
  }
  /// The next operation that is finished, or null. It is only for queues that are not always looked at.
  backend::Operation* poll_queue(bool& more) noexcept {
    stop_dozing();
    backend::Operation* const operation = queue_->poll(more);
    if (looked_at_ && this->num_inflight_tasks() == (operation != nullptr ? 1U : 0U)) {
      this->stop_looking();
    }
    return operation;
  }

  void quiesce() noexcept override { queue_->abort(); }
  void end() noexcept override {
    if (queue_ != nullptr) {
      reclaim_tasks();
    }
    close_queue();
  }
  // The parts of end(), for a library that has to do something in between.
  /// Waits for the tasks in flight of a context that is destroyed while it runs, so that their bufs come free.
  void reclaim_tasks() noexcept;
  /// Closes the queue and the pools.
  void close_queue() noexcept;

  bool assist() noexcept override { return queue_ != nullptr && queue_->assist(); }
  bool look() noexcept override { return this->note_look(queue_->look()); }
  void prepare_sleep() noexcept override;
  bool may_advance_elsewhere(Cpus here) noexcept override { return queue_->may_advance_elsewhere(here); }

 private:
  void start_looking() noexcept;

  std::unique_ptr<backend::Queue> queue_;
  bool looked_at_ = false;  ///< the queue has a descriptor
  bool dozes_ = false;      ///< the queue is armed, and not looked at
  bool watched_ = false;    ///< its descriptor is; while it dozes
};

template <class Noun>
void QueueContext<Noun>::reclaim_tasks() noexcept {
  queue_->abort();
  for (std::size_t left = this->num_inflight_tasks(); left > 0;) {
    bool more = false;
    if (backend::Operation* const operation = queue_->poll(more)) {
      this->take_back(task_of(*operation), operation->outcome);
      --left;
    } else if (!queue_->assist()) {
      std::this_thread::yield();
    }
  }
}

template <class Noun>
void QueueContext<Noun>::close_queue() noexcept {
  this->stop_looking();
  this->leave_others();
  dozes_ = false;
  if (std::exchange(watched_, false)) {
    this->progress_engine()->unwatch(queue_->fd());
  }
  queue_.reset();
  looked_at_ = false;
  ContextTasks::close(*this);
}

template <class Noun>
void QueueContext<Noun>::start_looking() noexcept {
  if (std::exchange(watched_, false)) {
    this->progress_engine()->unwatch(queue_->fd());
  }
  dozes_ = false;
  this->keep_looking();
}

template <class Noun>
void QueueContext<Noun>::prepare_sleep() noexcept {
  dozes_ = true;
  try {
    this->progress_engine()->watch(queue_->fd(), EPOLLIN, *this);
    watched_ = true;
  } catch (const std::exception& error) {
    log::engine(log::Level::error, this->kind(), error.what());
    this->notify();  // it must not sleep, then
    return;
  }
  queue_->arm();
  if (queue_->look()) {
    this->notify();
  }
}

}  // namespace pydoca::detail
