#include "library/sync_event.hpp"

#include <chrono>
#include <source_location>

using namespace pydoca;
using capi::Call;

namespace {

/// By value: the engine's would be read from memory.
constexpr std::chrono::nanoseconds forever{SyncEvent::forever.count()};

using Wait = Status (SyncEvent::*)(std::uint64_t value, std::uint64_t mask, WaitMode mode,
                                   std::chrono::nanoseconds timeout) noexcept;

doca_error_t wait(doca_sync_event* event, Wait until, std::uint64_t value, std::uint64_t mask, WaitMode mode,
                  std::source_location where = std::source_location::current()) noexcept {
  if (!Call::accepts(event)) [[unlikely]] {
    return Call::refuse_arguments(where, event);
  }
  return capi::as_c(((*event->event).*until)(value, mask, mode, forever));
}

}  // namespace

// Each ends by the engine's call: keeping the event for a line of the log would double what C adds to it.
doca_error_t doca_sync_event_get(doca_sync_event* event, std::uint64_t* value) {
  if (!Call::accepts(event, value)) [[unlikely]] {
    return Call::refuse_arguments(std::source_location::current(), event, value);
  }
  return capi::as_c(event->event->get(*value));
}

doca_error_t doca_sync_event_update_set(doca_sync_event* event, std::uint64_t value) {
  if (!Call::accepts(event)) [[unlikely]] {
    return Call::refuse_arguments(std::source_location::current(), event);
  }
  return capi::as_c(event->event->update_set(value));
}

doca_error_t doca_sync_event_update_add(doca_sync_event* event, std::uint64_t value, std::uint64_t* fetched) {
  if (!Call::accepts(event, fetched)) [[unlikely]] {
    return Call::refuse_arguments(std::source_location::current(), event, fetched);
  }
  return capi::as_c(event->event->update_add(value, *fetched));
}

doca_error_t doca_sync_event_wait_gt(doca_sync_event* event, std::uint64_t value, std::uint64_t mask) {
  return wait(event, &SyncEvent::wait_gt, value, mask, WaitMode::busy);
}

doca_error_t doca_sync_event_wait_gt_yield(doca_sync_event* event, std::uint64_t value, std::uint64_t mask) {
  return wait(event, &SyncEvent::wait_gt, value, mask, WaitMode::yield);
}

doca_error_t doca_sync_event_wait_eq(doca_sync_event* event, std::uint64_t value, std::uint64_t mask) {
  return wait(event, &SyncEvent::wait_eq, value, mask, WaitMode::busy);
}

doca_error_t doca_sync_event_wait_eq_yield(doca_sync_event* event, std::uint64_t value, std::uint64_t mask) {
  return wait(event, &SyncEvent::wait_eq, value, mask, WaitMode::yield);
}

doca_error_t doca_sync_event_wait_neq(doca_sync_event* event, std::uint64_t value, std::uint64_t mask) {
  return wait(event, &SyncEvent::wait_neq, value, mask, WaitMode::busy);
}

doca_error_t doca_sync_event_wait_neq_yield(doca_sync_event* event, std::uint64_t value, std::uint64_t mask) {
  return wait(event, &SyncEvent::wait_neq, value, mask, WaitMode::yield);
}
