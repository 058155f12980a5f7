#pragma once

#include "pydoca/backend/counter.hpp"
#include "pydoca/status.hpp"

#include "detail/intrusive_list.hpp"
#include "detail/ready_node.hpp"
#include "detail/time/timer.hpp"
#include "library/sync_event/sync_event_task.hpp"

#include <cstdint>

namespace pydoca::library {

/// The context, as updates see it.
class UpdateOwner {
 public:
  /// The task of an update has ended; progress will deliver it.
  virtual void updated(SyncEventTask& task, Status outcome) noexcept = 0;

 protected:
  ~UpdateOwner() = default;
};

/// The updates of a context's tasks on a device where they take time: each is made when it is due, in the order of
/// their submission.
class TimedUpdates final : private detail::ReadyNode {
 public:
  /// All outlive it. Joins the engine. Throws operating_system.
  TimedUpdates(UpdateOwner& owner, backend::Counter& counter, Device& device, ProgressEngine& engine);
  ~TimedUpdates() override;
  TimedUpdates(const TimedUpdates&) = delete;
  TimedUpdates& operator=(const TimedUpdates&) = delete;

  /// The task's time begins.
  void begin(SyncEventTask& task) noexcept;
  /// What is not due ends with that status.
  void end_all(Status status) noexcept;

 private:
  bool progress_one(bool& more) noexcept override;
  bool look() noexcept override;
  void prepare_sleep() noexcept override;
  bool is_due() const noexcept;
  std::uint64_t first_due() const noexcept { return tasks_.front()->due_; }

  Status update(SyncEventTask& task) noexcept;

  UpdateOwner& owner_;
  backend::Counter& counter_;
  Device& device_;
  ProgressEngine& engine_;
  detail::Timer timer_;
  bool is_set_ = false;  ///< the timer
  detail::IntrusiveQueue<SyncEventTask, &SyncEventTask::next_> tasks_;
};

}  // namespace pydoca::library
