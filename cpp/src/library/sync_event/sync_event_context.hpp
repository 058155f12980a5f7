#pragma once

#include "pydoca/backend/counter.hpp"
#include "pydoca/sync_event_context.hpp"

#include "detail/intrusive_list.hpp"
#include "library/library_context.hpp"
#include "library/sync_event/event_timer.hpp"
#include "library/sync_event/sync_event.hpp"
#include "library/sync_event/sync_event_task.hpp"
#include "library/sync_event/timed_updates.hpp"
#include "library/sync_event/wait_table.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace pydoca::library {

class SyncEventContext final : public detail::LibraryContext<pydoca::SyncEventContext>, public UpdateOwner {
 public:
  explicit SyncEventContext(std::shared_ptr<pydoca::SyncEvent> event);
  ~SyncEventContext() override;

  void post(SyncEventTask& task) noexcept;
  Status cancel(SyncEventTask& task) noexcept;
  bool updates_take_time() const noexcept { return updates_take_time_; }

 private:
  SyncEvent& own_event() const noexcept { return of(*event()); }
  backend::Counter& counter() const noexcept { return *own_event().counter_; }

  Status begin() override;
  void quiesce() noexcept override;
  void end() noexcept override;
  void release() noexcept override;
  bool poll_one(bool& more) noexcept override;
  std::string_view task_name(std::size_t kind) const noexcept override {
    return name_of(static_cast<SyncEventOperation>(kind));
  }
  bool look() noexcept override;
  void prepare_sleep() noexcept override;
  bool may_advance_elsewhere(Cpus here) noexcept override { return counter().may_change_elsewhere(here); }

  void watch_counter();
  void post_wait(SyncEventTask& task) noexcept;
  void updated(SyncEventTask& task, Status outcome) noexcept override { append_done(task, outcome); }
  void append_done(SyncEventTask& task, Status outcome) noexcept;
  void open_tasks();
  void collect() noexcept;
  void collect_or_fail() noexcept;
  void fail_waits(Status status) noexcept;

  std::unique_ptr<detail::WaitTable<SyncEventTask>> waits_;
  std::unique_ptr<detail::EventTimer> timer_;
  bool updates_take_time_ = false;               ///< whether they do so on this device; set before the tasks are made
  std::unique_ptr<TimedUpdates> timed_updates_;  ///< where they do, while the context is started
  detail::IntrusiveQueue<SyncEventTask, &SyncEventTask::next_> done_;
  std::uint64_t last_ = 0;  ///< the value that pending waits were compared with
};

inline SyncEventContext& of(pydoca::SyncEventContext& context) noexcept {
  return static_cast<SyncEventContext&>(context);
}

}  // namespace pydoca::library
