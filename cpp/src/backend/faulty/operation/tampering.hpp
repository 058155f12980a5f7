#pragma once

#include "pydoca/backend/device.hpp"
#include "pydoca/backend/notifier.hpp"
#include "pydoca/backend/queue.hpp"

#include "backend/faulty/operation/data.hpp"
#include "backend/faulty/operation/held_operations.hpp"
#include "backend/faulty/operation/lane.hpp"
#include "backend/faulty/operation/stand_in.hpp"
#include "backend/faulty/plan/alarm.hpp"
#include "backend/faulty/plan/device_faults.hpp"
#include "detail/intrusive_list.hpp"

#include <cstdint>
#include <exception>
#include <memory>
#include <unordered_map>
#include <utility>

namespace pydoca::faulty {

/// What a plan does to the operations of one queue, whatever they are: the one place that knows what an action means
/// for an operation that a queue takes and gives back. Belongs to the queue's thread. Allocates only for faults.
template <class Operation>
class Tampering {
 public:
  using Held = HeldOperations<Operation>::Held;

  Tampering(DeviceFaults& faults, backend::Device& device, backend::Notifier& notifier, int inner_fd)
      : faults_(faults), device_(device), notifier_(notifier), alarm_(inner_fd) {}

  int fd() const noexcept { return alarm_.fd(); }

  /// Does what the queue's post() does.
  Status post(Operation& operation, bool flush, Lane<Operation>& lane) noexcept;
  /// What the device gave back: the operation, if its completion comes now, is in next().
  void take_back(Operation& operation, Lane<Operation>& lane) noexcept;
  /// The next completion that comes now, or null.
  Operation* next() noexcept;
  bool has_next() const noexcept { return !ready_.empty() || held_.next_due() <= detail::now(); }
  /// Called before the queue is polled.
  void calm() noexcept { alarm_.calm(); }
  void arm() noexcept {
    if (const std::uint64_t due = held_.next_due(); due != detail::never) {
      alarm_.set(due);
    }
  }
  /// The queue ends: nothing is held back from now on.
  void end() noexcept {
    ended_ = true;
    end_lane(nullptr);
  }
  /// The same for a lane.
  void end_lane(const Lane<Operation>* lane) noexcept {
    held_.end(lane);
    notifier_.notify();
  }
  bool holds(const Lane<Operation>& lane) const noexcept { return held_.holds(lane); }
  template <class Visit>
  void for_each_waiting(Visit visit) noexcept {
    held_.for_each([&](Held& held) { visit(*held.operation); });
  }

 private:
  Status post_faulty(Operation& operation, bool flush, Lane<Operation>& lane, const Fault& fault);
  Status hold_undone(Operation& operation, Lane<Operation>& lane, Status status, const Fault& failed_by = {});
  Status post_recorded(Operation& operation, bool flush, Lane<Operation>& lane, const Fault& fault);
  Status post_corrupted(Operation& operation, bool flush, Lane<Operation>& lane, const Fault& fault);
  Status post_cut(Operation& operation, bool flush, Lane<Operation>& lane, const Fault& fault);
  Status post_stand_in(std::unique_ptr<StandIn<Operation>> stand_in, bool flush);
  std::unique_ptr<StandIn<Operation>> make_stand_in(Operation& original, Lane<Operation>& lane) {
    auto stand_in = std::make_unique<StandIn<Operation>>();
    stand_in->operation = lane.copy_of(original);
    stand_in->original = &original;
    stand_in->lane = &lane;
    return stand_in;
  }
  Status pass_on(Operation& operation, bool flush, Lane<Operation>& lane) noexcept {
    const Status status = lane.pass_on(operation, flush);
    lane.posted += status == Status::success ? 1 : 0;
    return status;
  }

  void finish(Operation& operation, Lane<Operation>& lane, std::uint64_t place);
  void finish_recorded(Operation& operation, Lane<Operation>& lane, std::uint64_t place, const Fault& fault);
  bool duplicate(Operation& operation, Lane<Operation>& lane);
  void apply(Operation& operation, const Lane<Operation>& lane, const Fault& fault) noexcept;
  void come(Operation& operation) noexcept { ready_.push(operation); }

  DeviceFaults& faults_;
  backend::Device& device_;
  backend::Notifier& notifier_;
  Alarm alarm_;
  HeldOperations<Operation> held_;
  detail::IntrusiveQueue<backend::Operation, &backend::Operation::next> ready_;
  std::unordered_map<const Operation*, Fault> records_;  ///< the faults of operations that the device has
  std::unordered_map<const Operation*, std::unique_ptr<StandIn<Operation>>> stand_ins_;
  bool ended_ = false;
};

template <class Operation>
Status Tampering<Operation>::post(Operation& operation, bool flush, Lane<Operation>& lane) noexcept {
  operation.slot = 0;
  try {
    const Fault fault = ended_ || lane.broken ? Fault() : faults_.decide(lane.opcode_of(operation), operation.length);
    lane.follow_device();
    if (lane.broken && !ended_) {
      return hold_undone(operation, lane, std::exchange(lane.reason, Status::shutdown));
    }
    if (fault.rule == nullptr) [[likely]] {
      return pass_on(operation, flush, lane);
    }
    return post_faulty(operation, flush, lane, fault);
  } catch (const std::bad_alloc&) {
    return Status::no_memory;
  }
}

template <class Operation>
Status Tampering<Operation>::post_faulty(Operation& operation, bool flush, Lane<Operation>& lane, const Fault& fault) {
  switch (fault.rule->action) {
    case FaultAction::full:
      return Status::again;
    case FaultAction::fail:
      lane.broken = lane.is_fragile;
      return hold_undone(operation, lane, fault.rule->status, fault);
    case FaultAction::corrupt:
      return fault.rule->corruption == Corruption::stale ? hold_undone(operation, lane, Status::success)
                                                         : post_corrupted(operation, flush, lane, fault);
    case FaultAction::misreport_length:
      return lane.is_told_length(operation) ? post_recorded(operation, flush, lane, fault)
                                            : post_cut(operation, flush, lane, fault);
    default:
      return post_recorded(operation, flush, lane, fault);
  }
}

/// The device never sees it.
template <class Operation>
Status Tampering<Operation>::hold_undone(Operation& operation, Lane<Operation>& lane, Status status,
                                         const Fault& failed_by) {
  const bool breaks = failed_by.rule != nullptr;
  held_.hold({.operation = &operation,
              .status = status,
              .lane = &lane,
              .place = lane.posted,
              .is_undone = true,
              .breaks = breaks,
              .rule = breaks ? failed_by.text_number() : 0});
  notifier_.notify();
  return Status::success;
}

template <class Operation>
Status Tampering<Operation>::post_recorded(Operation& operation, bool flush, Lane<Operation>& lane,
                                           const Fault& fault) {
  records_.emplace(&operation, fault);
  const Status status = pass_on(operation, flush, lane);
  if (status != Status::success) {
    records_.erase(&operation);
  }
  return status;
}

/// What is in this process is changed once it has come; what goes to another place, before it leaves.
template <class Operation>
Status Tampering<Operation>::post_corrupted(Operation& operation, bool flush, Lane<Operation>& lane,
                                            const Fault& fault) {
  std::uint64_t filled = 0;
  const Segment* const target = lane.target_of(operation, filled);
  const Segment* const source = source_of(operation);
  if (target != nullptr && faults_.is_local(*target)) {
    return post_recorded(operation, flush, lane, fault);
  }
  if (!has_place(fault, source == nullptr ? 0 : operation.length)) {
    faults_.note_impossible(fault, Spared::too_short);
    return pass_on(operation, flush, lane);
  }
  if (!is_local(source, operation.length, faults_)) {
    faults_.note_impossible(fault, Spared::elsewhere);
    return pass_on(operation, flush, lane);
  }
  try {
    auto stand_in = make_stand_in(operation, lane);
    stand_in->copy(source, operation.length, fault, device_, faults_.ordinal());
    return post_stand_in(std::move(stand_in), flush);
  } catch (const Error&) {
    faults_.note_impossible(fault, Spared::elsewhere);
    return pass_on(operation, flush, lane);
  }
}

template <class Operation>
Status Tampering<Operation>::post_cut(Operation& operation, bool flush, Lane<Operation>& lane, const Fault& fault) {
  const std::uint64_t length = lane.cut_length(operation, misreported(fault, operation.length));
  if (length >= operation.length) {
    faults_.note_impossible(fault, Spared::too_short);
    return pass_on(operation, flush, lane);
  }
  auto stand_in = make_stand_in(operation, lane);
  stand_in->cut(source_of(operation), length);
  return post_stand_in(std::move(stand_in), flush);
}

template <class Operation>
Status Tampering<Operation>::post_stand_in(std::unique_ptr<StandIn<Operation>> stand_in, bool flush) {
  Operation& made = *stand_in->operation;
  Lane<Operation>& lane = *stand_in->lane;
  stand_ins_.emplace(&made, std::move(stand_in));
  const Status status = pass_on(made, flush, lane);
  if (status != Status::success) {
    stand_ins_.erase(&made);
  }
  return status;
}

template <class Operation>
void Tampering<Operation>::take_back(Operation& given, Lane<Operation>& lane) noexcept {
  const std::uint64_t place = lane.returned++;
  if (given.outcome == Status::shutdown && lane.broken) {
    given.outcome = std::exchange(lane.reason, Status::shutdown);
  }
  held_.release_lost();
  Operation* operation = &given;
  if (const auto found = stand_ins_.find(&given); found != stand_ins_.end()) {
    const std::unique_ptr<StandIn<Operation>> stand_in = std::move(found->second);
    stand_ins_.erase(found);
    operation = stand_in->original;
    if (stand_in->is_second) {
      held_.release(*operation);
      return;
    }
    operation->outcome = given.outcome;
    lane.take_answer(given, *operation);
  }
  try {
    finish(*operation, lane, place);
  } catch (const std::bad_alloc&) {
    come(*operation);  // the fault is left out
  }
}

template <class Operation>
void Tampering<Operation>::finish(Operation& operation, Lane<Operation>& lane, std::uint64_t place) {
  if (!records_.empty()) {
    if (const auto found = records_.find(&operation); found != records_.end()) {
      const Fault fault = found->second;
      records_.erase(found);
      finish_recorded(operation, lane, place, fault);
      return;
    }
  }
  if (held_.holds_back(lane, place)) {
    held_.hold({.operation = &operation, .status = operation.outcome, .lane = &lane, .place = place});
    return;
  }
  come(operation);
}

template <class Operation>
void Tampering<Operation>::finish_recorded(Operation& operation, Lane<Operation>& lane, std::uint64_t place,
                                           const Fault& fault) {
  Held held{.operation = &operation, .status = operation.outcome, .lane = &lane, .place = place};
  const bool ends = ended_ || lane.broken;
  if (fault.is(FaultAction::drop)) {
    held.is_dropped = !ends;
    held.status = ends ? Status::shutdown : held.status;
  } else if (fault.is(FaultAction::delay)) {
    held.due = ends ? 0 : detail::now() + static_cast<std::uint64_t>(fault.rule->by.count());
  } else if (fault.is(FaultAction::lose_notification)) {
    held.is_lost = !ends;
    held.due = ends ? 0 : detail::never;
  } else if (fault.is(FaultAction::duplicate)) {
    const bool again = !ends && operation.outcome == Status::success && duplicate(operation, lane);
    held.due = again ? detail::never : 0;
    held.waits = again;
  } else if (operation.outcome == Status::success) {
    apply(operation, lane, fault);
  }
  held_.hold(held);
}

/// Its completion waits for that of the second one.
template <class Operation>
bool Tampering<Operation>::duplicate(Operation& operation, Lane<Operation>& lane) {
  auto second = make_stand_in(operation, lane);
  second->is_second = true;
  return post_stand_in(std::move(second), true) == Status::success;
}

template <class Operation>
void Tampering<Operation>::apply(Operation& operation, const Lane<Operation>& lane, const Fault& fault) noexcept {
  if (fault.is(FaultAction::misreport_length)) {
    if (!lane.misreport(operation, fault)) {
      faults_.note_impossible(fault, Spared::too_short);
    }
    return;
  }
  std::uint64_t filled = 0;
  const Segment* const target = lane.target_of(operation, filled);
  if (!has_place(fault, target == nullptr ? 0 : filled)) {
    faults_.note_impossible(fault, Spared::too_short);
  } else if (!corrupt_target(target, filled, fault, faults_)) {
    faults_.note_impossible(fault, Spared::elsewhere);
  }
}

template <class Operation>
Operation* Tampering<Operation>::next() noexcept {
  if (auto* const ready = static_cast<Operation*>(ready_.pop())) {
    return ready;
  }
  Held held;
  if (held_.take(held)) {
    held.operation->outcome = held.status;
    held.operation->slot = held.rule;
    if (held.breaks) {
      held.lane->break_down();
    }
    return held.operation;
  }
  return nullptr;
}

}  // namespace pydoca::faulty
