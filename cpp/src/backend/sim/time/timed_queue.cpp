#include "backend/sim/time/timed_queue.hpp"

#include "backend/sim/copy/copy.hpp"
#include "detail/time/time.hpp"

namespace pydoca::sim {

TimedQueue::TimedQueue(std::shared_ptr<FunctionModel> model, TimedOperation operation, const Pace& pace,
                       const Place& place, const backend::QueueOptions& options, backend::Notifier& notifier)
    : model_(std::move(model)),
      kind_(operation),
      pace_(pace),
      place_(place),
      notifier_(notifier),
      depth_(pace_.queue_depth != 0 ? std::min(options.depth, pace_.queue_depth) : options.depth),
      random_(model_->next_seed(operation)),
      timeline_(depth_, options.ordered ? 1 : pace_.reorder_window) {
  if (!timer_) {
    throw Error(Status::operating_system, "create a queue with a timing model: the process has no descriptor left");
  }
}

/// Memory of the other side is reached through the link of the card, and so is the host's by the card's engines.
Crossing TimedQueue::crossing_of(const backend::DataOperation& operation) const noexcept {
  const auto is_of_host = [this](const Segment* segment) {
    const Region* const region = segment != nullptr ? region_of(*segment, place_.ordinal()) : nullptr;
    return region != nullptr && (region->reach() != Region::Reach::local || place_.properties().side == Side::host);
  };
  return {.to_card = is_of_host(operation.src) ? operation.length : 0,
          .to_host = is_of_host(operation.dst) ? operation.length : 0};
}

void TimedQueue::admit(backend::DataOperation& operation) noexcept {
  const std::uint64_t now = detail::now();
  const Crossing crossing = model_->link() != nullptr ? crossing_of(operation) : Crossing{};
  const Moments moments =
      moments_of(pace_, model_->engine(kind_), model_->link(), now, operation.length, crossing, random_);
  timeline_.add(operation, now, moments, random_);
}

void TimedQueue::set_done(backend::Operation& operation) noexcept {
  if (operation.status != Status::success && operation.status != Status::shutdown && failed_ == nullptr) {
    failed_ = &operation;
  }
  timeline_.set_done(operation);
}

bool TimedQueue::is_due() noexcept {
  if (timeline_.empty() || !timeline_.is_first_done()) {
    return false;
  }
  if (ends_ || timeline_.first_due() <= seen_) {
    return true;
  }
  seen_ = detail::now();
  return timeline_.first_due() <= seen_;
}

backend::Operation* TimedQueue::take_due(bool& more) noexcept {
  if (!is_due()) {
    return nullptr;
  }
  if (failed_ != nullptr && timeline_.first().status == Status::shutdown) [[unlikely]] {
    timeline_.put_first(*failed_);
  }
  backend::Operation& operation = timeline_.first();
  operation.status = outcome_of_first();
  failed_ = failed_ != &operation ? failed_ : nullptr;
  timeline_.pop();
  --outstanding_;
  more = is_due();
  return &operation;
}

/// One operation fails by the removal of the device; the others are flushed, as in any broken queue.
Status TimedQueue::outcome_of_first() noexcept {
  const Status status = timeline_.first().status;
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
