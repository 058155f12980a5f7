#pragma once

#include "pydoca/context.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace pydoca {

/// A context whose tasks are operations of one queue of its device, as in most of DOCA's libraries.
///
/// How its engine hears of completions: a queue without a descriptor notifies. A queue with a descriptor is looked at
/// while the engine polls and a task is in flight, or always where peers send by themselves; its descriptor is watched,
/// and the queue armed, only while the engine sleeps or after thousands of looks in vain, as a watched descriptor costs
/// a polling engine a system call now and then.
class QueueContext : public Context {
 public:
  ~QueueContext() override;
  void flush_tasks() noexcept override;

 protected:
  QueueContext(std::shared_ptr<Device> device, std::size_t num_task_kinds);

  /// In begin(). A queue that has more to tell than the completions of tasks in flight is always_looked_at.
  void open_queue(std::unique_ptr<backend::Queue> queue, bool always_looked_at = false);
  /// Null unless open.
  backend::Queue* queue() const noexcept { return queue_.get(); }
  /// The task whose operation the queue gave back.
  virtual Task& task_of(backend::Operation& operation) const noexcept = 0;

  /// A task was posted. A queue that is armed tells of its completion, too.
  void expect_completion() noexcept {
    if (looked_at_ && !dozes_) {
      keep_looking();
    }
  }
  /// Before the queue is polled.
  void stop_dozing() noexcept {
    if (dozes_) [[unlikely]] {
      start_looking();
    }
  }
  /// The next operation that is finished, or null. For queues that are not always looked at.
  backend::Operation* poll_queue(bool& more) noexcept;

  void quiesce() noexcept override;
  void end() noexcept override;
  // What end() consists of, for a library that has to do something in between.
  /// Waits for the tasks in flight of a context that is destroyed while it runs, so that their bufs come free.
  void reclaim_tasks() noexcept;
  /// With the pools.
  void close_queue() noexcept;
  bool assist() noexcept override;
  bool look() noexcept override;
  void prepare_sleep() noexcept override;

 private:
  void start_looking() noexcept;

  std::unique_ptr<backend::Queue> queue_;
  bool looked_at_ = false;  ///< the queue has a descriptor
  bool dozes_ = false;      ///< the queue is armed, and not looked at
  bool watched_ = false;    ///< its descriptor is; while it dozes
};

}  // namespace pydoca
