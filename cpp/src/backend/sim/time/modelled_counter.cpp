#include "backend/sim/time/modelled_counter.hpp"

#include "pydoca/interrupt.hpp"

#include "detail/pause.hpp"
#include "detail/time/time.hpp"
#include "detail/time/virtual_clock.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace pydoca::sim {

namespace {

constexpr std::uint64_t update_size = sizeof(std::uint64_t);
/// A sleeping thread wakes up late by about as much.
constexpr std::uint64_t spin_ns = 100'000;

Status wait_in_virtual_time(std::uint64_t due) noexcept {
  const Wake wake = detail::VirtualClock::instance().wait(nullptr, due);
  return wake == Wake::interrupted ? Status::again : Status::success;
}

Status wait_until(std::uint64_t due) noexcept {
  if (detail::is_time_virtual()) {
    return wait_in_virtual_time(due);
  }
  for (std::uint64_t now = detail::now(); now < due; now = detail::now()) {
    if (due - now <= spin_ns) {
      detail::pause();
    } else if (interrupted()) {
      return Status::again;
    } else {
      std::this_thread::sleep_for(
          std::min(std::chrono::nanoseconds(due - now - spin_ns), std::chrono::nanoseconds(interrupt_slice)));
    }
  }
  return Status::success;
}

}  // namespace

bool ModelledCounter::applies_to(const FunctionModel& model) noexcept {
  return model.pace(TimedOperation::sync_event_set) != nullptr || model.pace(TimedOperation::sync_event_add) != nullptr;
}

ModelledCounter::ModelledCounter(std::unique_ptr<backend::Counter> inner, std::shared_ptr<FunctionModel> model,
                                 const Crossing& crossing)
    : inner_(std::move(inner)),
      model_(std::move(model)),
      crossing_(crossing),
      of_sets_(model_->next_seed(TimedOperation::sync_event_set)),
      of_adds_(model_->next_seed(TimedOperation::sync_event_add)) {}

/// The updates of one process are in order, whatever their jitter.
std::uint64_t ModelledCounter::due_of_update(bool adds) noexcept {
  const TimedOperation operation = adds ? TimedOperation::sync_event_add : TimedOperation::sync_event_set;
  const Pace* const pace = model_->pace(operation);
  const std::lock_guard lock(mutex_);
  const std::uint64_t now = detail::now();
  if (pace != nullptr) {
    const Moments moments = moments_of(*pace, model_->engine(operation), model_->link(), now, update_size, crossing_,
                                       adds ? of_adds_ : of_sets_);
    last_due_ = std::max(last_due_, moments.due);
  }
  return std::max(last_due_, now);
}

bool ModelledCounter::leave_waiting_to_caller() noexcept {
  caller_waits_ = true;
  return true;
}

Status ModelledCounter::wait_for_update(bool adds) noexcept {
  if (caller_waits_) {
    return Status::success;
  }
  const std::uint64_t due = due_of_update(adds);
  if (!detail::is_time_virtual() && due <= detail::now() + spin_ns) {
    return wait_until(due);
  }
  Status status = Status::success;
  run_blocking([&]() noexcept { status = wait_until(due); });
  return status;
}

Status ModelledCounter::store(std::uint64_t value) noexcept {
  const Status status = wait_for_update(false);
  return status == Status::success ? inner_->store(value) : status;
}

/// What changes nothing only wakes those who wait (DpaSyncEvent::wake).
Status ModelledCounter::fetch_add(std::uint64_t increment, std::uint64_t& previous) noexcept {
  const Status status = increment != 0 ? wait_for_update(true) : Status::success;
  return status == Status::success ? inner_->fetch_add(increment, previous) : status;
}

}  // namespace pydoca::sim
