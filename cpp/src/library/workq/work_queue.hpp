#pragma once

#include "pydoca/device.hpp"
#include "pydoca/workq.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>

/// The parts of WorkQueue that are made for each library: <noun>_jobs.cpp, beside the library, defines its add() and
/// its submit() by them.
namespace pydoca::workq {

/// One kind of task that jobs become.
struct JobTraits {
  JobType (*type_of)(const Task& task) noexcept;
  std::uint64_t (*value_of)(const Task& task) noexcept = nullptr;  ///< a success's value; null: its event has none
  bool is_session = false;                                         ///< the program has taken the task, and frees it
};

/// configure(library, count) sets the conf of each kind of task: its callbacks are task_ended, count its tasks.
template <class Library, class Configure>
void WorkQueue::add_configured(const std::shared_ptr<Library>& ctx, const Configure& configure) {
  auto member = join(ctx);
  configure(*ctx, std::min(depth(), Library::max_num_tasks(ctx->device()->info())));
  start(std::move(member));
}

inline WorkQueue::Member* WorkQueue::member_of(const Context* ctx) const noexcept {
  const auto found = std::ranges::find_if(members_, [&](const auto& member) { return member->ctx.get() == ctx; });
  return ctx != nullptr && found != members_.end() ? found->get() : nullptr;
}

inline Status WorkQueue::check_room(const Context* ctx) const noexcept {
  if (member_of(ctx) == nullptr) [[unlikely]] {
    return ctx == nullptr ? Status::invalid_value : Status::not_found;
  }
  return ledger_.is_full() ? Status::no_memory : Status::success;
}

inline Status WorkQueue::submit_task(Task& task, Buf* filled) noexcept {
  if (destinations_ == Destinations::overwrite) {
    for (Buf* buf = filled; buf != nullptr; buf = buf->next()) {
      static_cast<void>(buf->reset_data_len());  // one in flight is refused below
    }
  }
  const Status status = task.try_submit();
  if (status == Status::success) [[likely]] {
    ledger_.begin();
  }
  return status;
}

/// take(task) takes a task for the job.
template <class Library, class Take>
Status WorkQueue::submit_new(Library* ctx, Buf* filled, const Take& take) noexcept {
  if (const Status status = check_room(ctx); status != Status::success) [[unlikely]] {
    return status;
  }
  Task* task = nullptr;
  if (const Status status = take(task); status != Status::success) [[unlikely]] {
    return status;
  }
  const Status status = submit_task(*task, filled);
  if (status != Status::success) [[unlikely]] {
    static_cast<void>(task->free());  // not submitted
  }
  return status;
}

template <const JobTraits& jobs>
void WorkQueue::task_ended(Task& task, std::uint64_t user_data, std::uint64_t address) noexcept {
  const Member& member = *std::bit_cast<const Member*>(address);
  Event event{.type = jobs.type_of(task), .result = task.status(), .user_data = user_data};
  if constexpr (jobs.value_of != nullptr) {
    event.value = event.result == Status::success ? jobs.value_of(task) : 0;
  }
  static_cast<void>(member.queue->ledger_.end(address, event));
  if constexpr (!jobs.is_session) {
    static_cast<void>(task.free());  // idle: it has completed
  }
}

}  // namespace pydoca::workq
