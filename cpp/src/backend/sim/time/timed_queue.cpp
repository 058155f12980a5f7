#include "backend/sim/time/timed_queue.hpp"

#include "pydoca/device_properties.hpp"

#include "backend/sim/copy/copy.hpp"
#include "detail/time/time.hpp"

#include <algorithm>

namespace pydoca::sim {

namespace {

/// An engine that polls asks again after about as much.
constexpr std::uint64_t round_ns = 100;

/// A reading of the clock, in nanoseconds: the part of the time between the submission of an operation and its
/// completion that is certain to lie outside. Half of it lies where the operation is posted, half where it is found
/// due.
std::uint64_t measure_reading() noexcept {
  constexpr int readings = 64;
  std::uint64_t shortest = UINT64_MAX;
  for (int i = 0; i < readings; ++i) {
    const std::uint64_t begin = detail::now();
    shortest = std::min(shortest, detail::now() - begin);
  }
  return std::min(shortest, round_ns);
}

/// What a reading takes; 0 in virtual time, where nothing takes time by itself.
std::uint64_t reading_ns() noexcept {
  if (detail::is_time_virtual()) {
    return 0;
  }
  static const std::uint64_t measured = measure_reading();
  return measured;
}

}  // namespace

TimedQueue::TimedQueue(std::shared_ptr<FunctionModel> model, TimedOperation operation, const Pace& pace,
                       const Place& place, const backend::QueueOptions& options, backend::Notifier& notifier)
    : model_(std::move(model)),
      kind_(operation),
      pace_(pace),
      place_(place),
      notifier_(notifier),
      depth_(pace_.queue_depth != 0 ? std::min(options.depth, pace_.queue_depth) : options.depth),
      random_(model_->next_seed(operation)),
      timeline_(depth_, options.ordered ? 1 : pace_.reorder_window),
      ahead_(reading_ns()),
      patience_(detail::is_time_virtual() ? 0 : round_ns) {
  if (!timer_) {
    throw Error(Status::operating_system, "create a queue with a timing model: the process has no descriptor left");
  }
}

/// Memory of the other side is reached through the link of the card, and so is the host's by the card's engines.
Crossing TimedQueue::crossing_of(const backend::DataOperation& operation) const noexcept {
  const auto is_of_host = [this](const Segment* segment) {
    const Region* const region = segment != nullptr ? region_of(*segment, place_.ordinal()) : nullptr;
    return region != nullptr && (!region->is_own() || place_.properties().side == Side::host);
  };
  return {.to_card = is_of_host(operation.source) ? operation.length : 0,
          .to_host = is_of_host(operation.target) ? operation.length : 0};
}

void TimedQueue::admit(backend::DataOperation& operation) noexcept {
  const std::uint64_t now = detail::now();
  const Crossing crossing = model_->link() != nullptr ? crossing_of(operation) : Crossing{};
  const Moments moments =
      moments_of(pace_, model_->engine(kind_), model_->link(), now, operation.length, crossing, random_);
  timeline_.add(operation, now, moments, random_);
}

void TimedQueue::set_done(backend::Operation& operation) noexcept {
  if (operation.outcome != Status::success && operation.outcome != Status::shutdown && failed_ == nullptr) {
    failed_ = &operation;
  }
  timeline_.set_done(operation);
}

bool TimedQueue::is_due() noexcept {
  if (is_due_now()) {
    return true;
  }
  if (timeline_.empty() || !timeline_.is_first_done() || timeline_.first_due() - seen_ > patience_) {
    return false;
  }
  while (!is_due_now()) {
  }
  return true;
}

bool TimedQueue::is_due_now() noexcept {
  if (timeline_.empty() || !timeline_.is_first_done()) {
    return false;
  }
  if (is_seen_due()) {
    return true;
  }
  seen_ = detail::now() + ahead_;
  return timeline_.first_due() <= seen_;
}

backend::Operation* TimedQueue::take_due(bool& more) noexcept {
  if (!is_due()) {
    return nullptr;
  }
  if (failed_ != nullptr && timeline_.first().outcome == Status::shutdown) [[unlikely]] {
    timeline_.put_first(*failed_);
  }
  backend::Operation& operation = timeline_.first();
  operation.outcome = outcome_of_first();
  operation.slot = 0;
  failed_ = failed_ != &operation ? failed_ : nullptr;
  timeline_.pop();
  --outstanding_;
  more = is_seen_due();  // a reading of the clock would delay this completion
  return &operation;
}

/// One operation fails by the removal of the device; the others are flushed, as in any broken queue.
Status TimedQueue::outcome_of_first() noexcept {
  const Status status = timeline_.first().outcome;
  const bool is_cut_short = ends_ && timeline_.first_due() > end_;
  if (!is_cut_short || (status != Status::success && status != Status::shutdown)) {
    return status;
  }
  return std::exchange(of_waiting_, Status::shutdown);
}

void TimedQueue::end_waiting(Status status) noexcept {
  if (!ends_) {
    ends_ = true;
    end_ = detail::now();
    of_waiting_ = status;
  }
  if (!timeline_.empty()) {
    notifier_.notify();
  }
}

void TimedQueue::set_timer() noexcept {
  armed_ = true;
  const bool knows = !timeline_.empty() && timeline_.is_first_done();  // else the notifier wakes the engine first
  timer_.set(knows ? (ends_ ? 0 : timeline_.first_due()) : detail::never);
}

void TimedQueue::clear_timer() noexcept {
  if (std::exchange(armed_, false)) {
    timer_.clear();
  }
}

}  // namespace pydoca::sim
