#pragma once

#include "pydoca/backend/counter.hpp"
#include "pydoca/sync_event_context.hpp"

#include "core/violation.hpp"
#include "detail/intrusive_list.hpp"
#include "library/library_context.hpp"
#include "library/sync_event/event_timer.hpp"
#include "library/sync_event/sync_event.hpp"
#include "library/sync_event/wait_table.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace pydoca::library {

class SyncEventTask final : public pydoca::SyncEventTask {
 public:
  SyncEventTask(SyncEventContext& context, detail::TaskPool& pool, std::size_t kind) noexcept;

  std::string explain(Status status) const override;
  detail::Limit check(detail::Violation* why) const noexcept override;
  Status post(bool flush) noexcept override;
  void finish(Status status) noexcept override;

  // Of a wait.
  bool is_ended_by(std::uint64_t value) const noexcept;
  /// The outcome, when value ends it.
  Status outcome_of(std::uint64_t value) const noexcept;

  // For the wait table.
  detail::WaitCondition condition() const noexcept;
  std::uint8_t group() const noexcept { return group_; }

  using pydoca::SyncEventTask::address_;
  using pydoca::SyncEventTask::mask_;
  using pydoca::SyncEventTask::result_;
  using pydoca::SyncEventTask::value_;
  std::uint8_t group_ = 0;  ///< the wait table's number of mask_
  Status outcome_ = Status::success;
  bool pending_ = false;           ///< in the wait table
  SyncEventTask* next_ = nullptr;  ///< in the wait table, or among those done
  SyncEventTask* prev_ = nullptr;  ///< in the wait table

 private:
  /// Why the wait ended with io_failed.
  std::string explain_refusal() const;
};

inline SyncEventTask& of(pydoca::SyncEventTask& task) noexcept { return static_cast<SyncEventTask&>(task); }

class SyncEventContext final : public detail::LibraryContext<pydoca::SyncEventContext> {
 public:
  explicit SyncEventContext(std::shared_ptr<pydoca::SyncEvent> event);
  ~SyncEventContext() override;

  void post(SyncEventTask& task) noexcept;
  Status cancel(SyncEventTask& task) noexcept;

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

  void watch_counter();
  void post_wait(SyncEventTask& task) noexcept;
  void append_done(SyncEventTask& task, Status outcome) noexcept;
  void collect() noexcept;
  void collect_or_fail() noexcept;
  void fail_waits(Status status) noexcept;

  std::unique_ptr<detail::WaitTable<SyncEventTask>> waits_;
  std::unique_ptr<detail::EventTimer> timer_;
  detail::IntrusiveQueue<SyncEventTask, &SyncEventTask::next_> done_;
  std::uint64_t last_ = 0;  ///< the value that pending waits were compared with
};

inline SyncEventContext& of(pydoca::SyncEventContext& context) noexcept {
  return static_cast<SyncEventContext&>(context);
}

}  // namespace pydoca::library
