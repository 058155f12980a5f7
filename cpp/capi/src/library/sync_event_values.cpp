#include "library/sync_event.hpp"

#include <chrono>
#include <source_location>

using namespace pydoca;
using capi::Call;

namespace {

[[gnu::cold, gnu::noinline]] doca_error_t refuse(const SyncEvent& event, Status status,
                                                 std::source_location where) noexcept {
  const Call call(where);
  return call.run([&] { throw Error(status, event.explain(status)); });
}

doca_error_t answer(const SyncEvent& event, Status status,
                    std::source_location where = std::source_location::current()) noexcept {
  return status == Status::success ? DOCA_SUCCESS : refuse(event, status, where);
}

using Wait = Status (SyncEvent::*)(std::uint64_t value, std::uint64_t mask, WaitMode mode,
                                   std::chrono::nanoseconds timeout) noexcept;

/// where is not that of call, so that each has one use, and is made there.
doca_error_t wait(Call call, doca_sync_event* event, Wait until, std::uint64_t value, std::uint64_t mask, WaitMode mode,
                  std::source_location where = std::source_location::current()) noexcept {
  if (!call.has(event)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  SyncEvent& engine = *event->event;
  return answer(engine, (engine.*until)(value, mask, mode, SyncEvent::forever), where);
}

}  // namespace

doca_error_t doca_sync_event_get(doca_sync_event* event, std::uint64_t* value) {
  if (!Call().has(event, value)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  SyncEvent& engine = *event->event;
  return answer(engine, engine.get(*value));
}

doca_error_t doca_sync_event_update_set(doca_sync_event* event, std::uint64_t value) {
  if (!Call().has(event)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  SyncEvent& engine = *event->event;
  return answer(engine, engine.update_set(value));
}

doca_error_t doca_sync_event_update_add(doca_sync_event* event, std::uint64_t value, std::uint64_t* fetched) {
  if (!Call().has(event, fetched)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  SyncEvent& engine = *event->event;
  return answer(engine, engine.update_add(value, *fetched));
}

doca_error_t doca_sync_event_wait_gt(doca_sync_event* event, std::uint64_t value, std::uint64_t mask) {
  return wait(Call(), event, &SyncEvent::wait_gt, value, mask, WaitMode::busy);
}

doca_error_t doca_sync_event_wait_gt_yield(doca_sync_event* event, std::uint64_t value, std::uint64_t mask) {
  return wait(Call(), event, &SyncEvent::wait_gt, value, mask, WaitMode::yield);
}

doca_error_t doca_sync_event_wait_eq(doca_sync_event* event, std::uint64_t value, std::uint64_t mask) {
  return wait(Call(), event, &SyncEvent::wait_eq, value, mask, WaitMode::busy);
}

doca_error_t doca_sync_event_wait_eq_yield(doca_sync_event* event, std::uint64_t value, std::uint64_t mask) {
  return wait(Call(), event, &SyncEvent::wait_eq, value, mask, WaitMode::yield);
}

doca_error_t doca_sync_event_wait_neq(doca_sync_event* event, std::uint64_t value, std::uint64_t mask) {
  return wait(Call(), event, &SyncEvent::wait_neq, value, mask, WaitMode::busy);
}

doca_error_t doca_sync_event_wait_neq_yield(doca_sync_event* event, std::uint64_t value, std::uint64_t mask) {
  return wait(Call(), event, &SyncEvent::wait_neq, value, mask, WaitMode::yield);
}
