#include "pydoca/cpus.hpp"
#include "pydoca/interrupt.hpp"

#include "detail/pause.hpp"
#include "detail/time/time.hpp"
#include "detail/trace/recorder.hpp"
#include "detail/wait_limit.hpp"
#include "library/sync_event/sync_event.hpp"
#include "library/virtual_wait.hpp"

#include <sched.h>

/// The synchronous operations of a sync event.
namespace pydoca {

Status SyncEvent::get(std::uint64_t& value) const noexcept {
  const library::SyncEvent& own = library::of(*this);
  if (!own.is_synchronous()) [[unlikely]] {
    return Status::bad_state;
  }
  value = own.counter_->load();
  return own.imported_ ? own.counter_->failure(0) : Status::success;
}

Status SyncEvent::update_set(std::uint64_t value) noexcept {
  library::SyncEvent& own = library::of(*this);
  if (detail::trace::is_recording()) [[unlikely]] {
    own.record(TraceEventKind::event_set, detail::trace::ticks(), value);
  }
  return own.is_synchronous() ? own.counter_->store(value) : Status::bad_state;
}

Status SyncEvent::update_add(std::uint64_t increment, std::uint64_t& previous) noexcept {
  library::SyncEvent& own = library::of(*this);
  if (detail::trace::is_recording()) [[unlikely]] {
    own.record(TraceEventKind::event_add, detail::trace::ticks(), increment);
  }
  return own.is_synchronous() ? own.counter_->fetch_add(increment, previous) : Status::bad_state;
}

namespace {

/// Looks between two looks at the clock and at what else may end a wait.
constexpr int looks_per_round = 64;
/// A busy wait that took longer gives its core away at times: the process that changes the value may need it.
constexpr auto spin_time = std::chrono::microseconds(50);

/// The status that ends a wait before its value comes, or success. Only long waits check for a removal.
Status interruption(library::SyncEvent& event, std::uint32_t told, detail::WaitLimit& limit) noexcept {
  if (const Status failure = event.failure(told); failure != Status::success) {
    return failure;
  }
  const Status status = limit.check();
  return status == Status::success && limit.waited() > spin_time && event.device_->removed() ? Status::driver : status;
}

}  // namespace

void library::SyncEvent::record(TraceEventKind kind, std::uint64_t begin, std::uint64_t value) const noexcept {
  const std::uint32_t name = trace_label_.index(
      [this] { return detail::trace::add_name(TraceNameKind::event, "sync event", device_->trace_name()); });
  detail::trace::record(begin, detail::trace::pack(kind, 0, 0, name), reinterpret_cast<std::uintptr_t>(this), value);
}

template <class Satisfied>
Status library::SyncEvent::wait(Satisfied satisfied, WaitMode mode, std::chrono::nanoseconds timeout) noexcept {
  if (!is_synchronous()) {
    return Status::bad_state;
  }
  if (satisfied(counter_->load())) {
    return imported_ ? counter_->failure(0) : Status::success;
  }
  if (!detail::trace::is_recording()) [[likely]] {
    return wait_for_change(satisfied, mode, timeout);
  }
  const std::uint64_t begin = detail::trace::ticks();
  const Status status = wait_for_change(satisfied, mode, timeout);
  record(TraceEventKind::event_wait, begin, detail::trace::pack_pair(detail::trace::ticks() - begin, 0));
  return status;
}

template <class Satisfied>
Status library::SyncEvent::wait_for_change(Satisfied satisfied, WaitMode mode,
                                           std::chrono::nanoseconds timeout) noexcept {
  if (detail::is_time_virtual()) [[unlikely]] {
    return wait_in_virtual_time(satisfied, timeout);
  }
  // Giving the core away may take long, so everything else is checked each time.
  const int looks = mode == WaitMode::yield ? 1 : looks_per_round;
  const std::uint32_t told = counter_->losses_told();
  const auto comes = [&] {
    for (int look = 0; look < looks; ++look) {
      if (satisfied(counter_->load())) {
        return true;
      }
      detail::pause();
    }
    return false;
  };
  if (comes()) {
    return Status::success;  // this comes before a clock could be read, which takes as long as a quick answer
  }
  detail::WaitLimit limit(timeout, interrupt_slice);
  for (;;) {
    if (comes()) {
      return Status::success;
    }
    const Status status = is_synchronous() ? interruption(*this, told, limit) : Status::bad_state;
    if (status != Status::success) {
      // The last thing that a peer did before its end may be what was waited for.
      return satisfied(counter_->load()) && status != Status::bad_state ? Status::success : status;
    }
    if (mode == WaitMode::yield || limit.waited() > spin_time || !counter_->may_change_elsewhere(own_cpus())) {
      ::sched_yield();
    }
  }
}

template <class Satisfied>
Status library::SyncEvent::wait_in_virtual_time(Satisfied satisfied, std::chrono::nanoseconds timeout) noexcept {
  if (timeout <= std::chrono::nanoseconds(0)) {
    return Status::time_out;
  }
  const std::uint32_t told = counter_->losses_told();
  const auto failure_now = [&] {
    const Status status = is_synchronous() ? failure(told) : Status::bad_state;
    return status == Status::success && device_->removed() ? Status::driver : status;
  };
  const auto is_over = [&] { return satisfied(counter_->load()) || failure_now() != Status::success; };
  const Status waited = detail::wait_in_virtual_time(is_over, timeout);
  if (satisfied(counter_->load())) {
    return Status::success;
  }
  const Status status = failure_now();
  if (status != Status::success) {
    return status;
  }
  return waited == Status::success ? Status::time_out : waited;  // virtual time has ended
}

Status SyncEvent::wait_gt(std::uint64_t value, std::uint64_t mask, WaitMode mode,
                          std::chrono::nanoseconds timeout) noexcept {
  library::SyncEvent& own = library::of(*this);
  return own.wait([=](std::uint64_t now) { return (now & mask) > value; }, mode, timeout);
}

Status SyncEvent::wait_eq(std::uint64_t value, std::uint64_t mask, WaitMode mode,
                          std::chrono::nanoseconds timeout) noexcept {
  library::SyncEvent& own = library::of(*this);
  return own.wait([=](std::uint64_t now) { return (now & mask) == value; }, mode, timeout);
}

Status SyncEvent::wait_neq(std::uint64_t value, std::uint64_t mask, WaitMode mode,
                           std::chrono::nanoseconds timeout) noexcept {
  library::SyncEvent& own = library::of(*this);
  return own.wait([=](std::uint64_t now) { return (now & mask) != value; }, mode, timeout);
}

}  // namespace pydoca
