#include "pydoca/device.hpp"
#include "pydoca/sync_event_context.hpp"

#include "library/workq/work_queue.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace pydoca::workq {

namespace {

struct Kind {
  JobType type;
  SyncEventOperation operation;
};

/// The index is a SyncEventOperation.
constexpr std::array kinds{Kind{JobType::sync_event_get, SyncEventOperation::get},
                           Kind{JobType::sync_event_update_set, SyncEventOperation::notify_set},
                           Kind{JobType::sync_event_update_add, SyncEventOperation::notify_add},
                           Kind{JobType::sync_event_wait, SyncEventOperation::wait_gt}};

constexpr JobTraits event_jobs{
    .type_of =
        [](const Task& task) noexcept {
          return kinds[static_cast<std::size_t>(static_cast<const SyncEventTask&>(task).operation())].type;
        },
    .value_of = [](const Task& task) noexcept -> std::uint64_t {
      const auto& ended = static_cast<const SyncEventTask&>(task);
      return ended.operation() != SyncEventOperation::notify_set ? ended.result() : 0;
    }};

}  // namespace

void WorkQueue::add(const std::shared_ptr<SyncEventContext>& ctx) {
  add_configured(ctx, [](SyncEventContext& events, std::uint32_t count) {
    for (const Kind& kind : kinds) {
      if (SyncEventContext::is_supported(events.device()->info(), kind.operation)) {
        events.set_conf(kind.operation, task_ended<event_jobs>, task_ended<event_jobs>, count);
      }
    }
  });
}

Status WorkQueue::submit(const SyncEventJob& job) noexcept {
  if (job.type < JobType::sync_event_get || job.type > JobType::sync_event_wait) {
    return Status::invalid_value;
  }
  const std::size_t place = static_cast<std::size_t>(job.type) - static_cast<std::size_t>(JobType::sync_event_get);
  return submit_new(job.ctx, nullptr, [&](Task*& taken) {
    SyncEventTask* task = nullptr;
    const Status status = job.ctx->allocate(kinds[place].operation, job.value, job.mask, job.user_data, task);
    taken = task;
    return status;
  });
}

}  // namespace pydoca::workq
