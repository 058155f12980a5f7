#pragma once

#include "pydoca/sync_event.hpp"
#include "pydoca/sync_event_context.hpp"

#include "library/library.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <doca_sync_event.h>
#include <list>
#include <memory>
#include <vector>

namespace pydoca::capi {

/// What was configured before the event became a context, by the number of the operation; a context gets it then.
class EventConfs {
 public:
  /// Throws as SyncEventContext::set_conf() does, as far as the event's device is known.
  void set(const SyncEvent& event, SyncEventOperation operation, TaskCallback<SyncEventTask> on_success,
           TaskCallback<SyncEventTask> on_error, std::uint32_t num_tasks);
  void apply(SyncEventContext& context) const;

 private:
  struct Conf {
    TaskCallback<SyncEventTask> on_success;
    TaskCallback<SyncEventTask> on_error;
    std::uint32_t num_tasks = 0;  ///< 0: not configured
  };
  std::array<Conf, num_sync_event_operations> confs_;
};

/// Descriptions of an event that programs have pointers to.
using Blobs = std::list<std::vector<std::byte>>;

}  // namespace pydoca::capi

struct doca_sync_event
    : pydoca::capi::Library<"sync event", pydoca::SyncEventContext, doca_sync_event_task_get,
                            doca_sync_event_task_notify_set, doca_sync_event_task_notify_add,
                            doca_sync_event_task_wait_gt, doca_sync_event_task_wait_eq, doca_sync_event_task_wait_neq> {
  bool has_engine() const noexcept { return context != nullptr; }
  doca_sync_event& configured() noexcept { return *this; }
  void set_conf(pydoca::SyncEventOperation operation, pydoca::TaskCallback<pydoca::SyncEventTask> on_success,
                pydoca::TaskCallback<pydoca::SyncEventTask> on_error, std::uint32_t num_tasks);

  std::shared_ptr<pydoca::SyncEvent> event;
  pydoca::capi::EventConfs confs;
  pydoca::capi::Blobs blobs;
  bool was_started = false;  ///< the start of the synchronous mode
};

struct doca_sync_event_remote_net : pydoca::capi::Handle<"sync event of the network"> {
  std::shared_ptr<pydoca::SyncEventRemoteNet> event;
};
