#pragma once

#include "pydoca/backend/notifier.hpp"
#include "pydoca/backend/queue.hpp"

#include "backend/sim/place/place.hpp"
#include "backend/sim/time/function_model.hpp"
#include "backend/sim/time/timeline.hpp"
#include "detail/intrusive_list.hpp"
#include "detail/time/timer.hpp"

#include <cstdint>
#include <memory>
#include <utility>

namespace pydoca::sim {

/// What the queues have in common that give back an operation when it is due by a model. Another queue executes it
/// meanwhile: it comes back when it is due and done.
class TimedQueue {
 protected:
  /// pace: the model's of the operation. Throws operating_system, std::bad_alloc.
  TimedQueue(std::shared_ptr<FunctionModel> model, TimedOperation operation, const Pace& pace, const Place& place,
             const backend::QueueOptions& options, backend::Notifier& notifier);
  ~TimedQueue() = default;

  bool take_place() noexcept { return outstanding_ != depth_ && ++outstanding_ != 0; }
  /// Notes when a posted operation is due: its time begins.
  void admit(backend::DataOperation& operation) noexcept;
  void set_done(backend::Operation& operation) noexcept;
  /// The operation to give back now, or null. more: whether another one follows.
  backend::Operation* take_due(bool& more) noexcept;
  /// Whether take_due() would give something. Reads the clock only where its last reading does not decide: a reading
  /// costs as much as the rest. Waits for what is due sooner than the caller could ask again.
  bool is_due() noexcept;
  /// Ends the waiting: what is not due yet comes back with that status, or has failed already.
  void end_waiting(Status status) noexcept;
  /// The function was pulled out since the last call.
  bool has_been_removed() noexcept { return !ends_ && place_.removed(); }

  bool has_outstanding() const noexcept { return outstanding_ != 0; }
  int timer_fd() const noexcept { return timer_.fd(); }
  void set_timer() noexcept;
  void clear_timer() noexcept;
  bool executes_in_submit() const noexcept { return pace_.executes_in_submit; }
  backend::Notifier& notifier() const noexcept { return notifier_; }

 private:
  /// The same without waiting.
  bool is_due_now() noexcept;
  /// Whether the first one was due when the clock was read last.
  bool is_seen_due() const noexcept {
    return !timeline_.empty() && timeline_.is_first_done() && (ends_ || timeline_.first_due() <= seen_);
  }
  Crossing crossing_of(const backend::DataOperation& operation) const noexcept;
  Status outcome_of_first() noexcept;

  const std::shared_ptr<FunctionModel> model_;
  const TimedOperation kind_;
  const Pace pace_;
  const Place& place_;
  backend::Notifier& notifier_;
  const std::uint32_t depth_;
  Random random_;
  Timeline timeline_;
  detail::Timer timer_;
  std::uint32_t outstanding_ = 0;
  const std::uint64_t ahead_;             ///< ns by which a reading of the clock is old where it is used
  const std::uint64_t patience_;          ///< ns that is_due() waits at most
  std::uint64_t seen_ = 0;                ///< the last reading of the clock, and ahead_
  backend::Operation* failed_ = nullptr;  ///< the failed one, not given back yet: what was flushed after it follows it
  bool armed_ = false;
  bool ends_ = false;                    ///< what is done comes back at once
  std::uint64_t end_ = 0;                ///< when that began
  Status of_waiting_ = Status::success;  ///< what has not been due by then
};

/// A queue of an engine of a simulated device with a model.
class ModelledQueue final : public backend::DataQueue, private TimedQueue {
 public:
  /// Throws as TimedQueue does.
  ModelledQueue(std::unique_ptr<backend::DataQueue> inner, std::shared_ptr<FunctionModel> model,
                TimedOperation operation, const Pace& pace, const Place& place, const backend::QueueOptions& options,
                backend::Notifier& notifier)
      : TimedQueue(std::move(model), operation, pace, place, options, notifier), inner_(std::move(inner)) {}

  int fd() const noexcept override { return timer_fd(); }
  bool look() noexcept override { return is_due(); }
  void arm() noexcept override { set_timer(); }
  /// What it holds becomes due by itself.
  bool may_advance_elsewhere(Cpus /*here*/) noexcept override { return has_outstanding(); }
  bool assist() noexcept override { return inner_->assist(); }
  Status post(backend::DataOperation& operation, bool flush) noexcept override {
    if (!take_place()) {
      return Status::again;
    }
    unposted_.push(operation);
    if (flush) {
      ring();
    }
    return Status::success;
  }
  void flush() noexcept override { ring(); }
  backend::Operation* poll(bool& more) noexcept override {
    clear_timer();
    execute();
    collect();
    if (has_been_removed()) [[unlikely]] {
      end_waiting(Status::driver);
    }
    return take_due(more);
  }
  void abort() noexcept override {
    inner_->abort();
    ring();  // what has not begun is flushed
    execute();
    collect();
    end_waiting(Status::shutdown);
  }
  std::unique_ptr<backend::OperationState> create_state() override { return inner_->create_state(); }

 private:
  using List = detail::IntrusiveQueue<backend::Operation, &backend::Operation::next>;

  /// The doorbell: the time of what was posted begins.
  void ring() noexcept {
    while (backend::Operation* const operation = unposted_.pop()) {
      admit(static_cast<backend::DataOperation&>(*operation));
      unexecuted_.push(*operation);
    }
    if (executes_in_submit()) {
      execute();
    } else {
      notifier().notify();
    }
  }
  void execute() noexcept {
    while (backend::Operation* const operation = unexecuted_.pop()) {
      static_cast<void>(inner_->post(static_cast<backend::DataOperation&>(*operation), true));  // it has as many places
    }
  }
  void collect() noexcept {
    for (bool more = true; more;) {
      more = false;
      if (backend::Operation* const operation = inner_->poll(more)) {
        set_done(*operation);
      }
    }
  }

  const std::unique_ptr<backend::DataQueue> inner_;
  List unposted_;    ///< accepted without flush
  List unexecuted_;  ///< their time runs; the other queue does not have them yet
};

}  // namespace pydoca::sim
