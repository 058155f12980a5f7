#pragma once

#include "pydoca/sync_event_context.hpp"

#include "core/violation.hpp"
#include "library/sync_event/wait_table.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace pydoca::library {

/// How the context begins a task: by its operation, and by whether updates take time on its device. A fifth route would
/// make the compiler use a jump table, which is longer for those that end at once.
enum class SyncEventRoute : std::uint8_t {
  get,
  set,
  add,
  later  ///< a wait, or an update that takes time
};

class SyncEventTask final : public pydoca::SyncEventTask {
 public:
  SyncEventTask(SyncEventContext& context, detail::TaskPool& pool, std::size_t kind) noexcept;

  std::string explain(Status status) const override;
  bool breaks_limit(detail::Violation* why) const noexcept override;
  Status post(bool flush) noexcept override;
  void finish(Status status) noexcept override;

  // These are about a wait.
  bool is_ended_by(std::uint64_t value) const noexcept;
  /// The outcome, when value ends it.
  Status outcome_of(std::uint64_t value) const noexcept;

  // The wait table uses these.
  detail::WaitCondition condition() const noexcept;
  std::uint8_t group() const noexcept { return group_; }

  using pydoca::SyncEventTask::address_;
  using pydoca::SyncEventTask::mask_;
  using pydoca::SyncEventTask::result_;
  using pydoca::SyncEventTask::value_;
  bool adds() const noexcept { return operation() == SyncEventOperation::notify_add; }

  const SyncEventRoute route_;
  std::uint8_t group_ = 0;  ///< the wait table's number of mask_
  Status outcome_ = Status::success;
  bool pending_ = false;           ///< whether it is in the wait table
  SyncEventTask* next_ = nullptr;  ///< the next one in the wait table, or among those done
  SyncEventTask* prev_ = nullptr;  ///< the previous one in the wait table
  std::uint64_t due_ = 0;          ///< when a timed update is made

 private:
  /// Why the wait ended with io_failed.
  std::string explain_refusal() const;
  /// Why it ended with not_connected.
  std::string_view explain_end() const noexcept;
  /// The rule of a fault plan that has failed the event's last change, from 1, or 0.
  std::uint32_t failed_by() const noexcept;
};

inline SyncEventTask& of(pydoca::SyncEventTask& task) noexcept { return static_cast<SyncEventTask&>(task); }

}  // namespace pydoca::library
