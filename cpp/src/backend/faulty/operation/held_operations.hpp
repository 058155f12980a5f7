#pragma once

#include "pydoca/backend/queue.hpp"
#include "pydoca/status.hpp"

#include "backend/faulty/operation/lane.hpp"
#include "detail/time/time.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace pydoca::faulty {

/// Operations of a queue that the device has done, or was not given, and whose completions wait. Those of an ordered
/// lane come in the order of their posting.
template <class Operation>
class HeldOperations {
 public:
  struct Held {
    Operation* operation = nullptr;
    Status status = Status::success;
    Lane<Operation>* lane = nullptr;
    std::uint64_t place = 0;  ///< so many operations of the lane the device was given before
    std::uint64_t due = 0;    ///< a time of detail::now(); never: until it is released
    bool is_lost = false;     ///< comes with the next completion
    bool is_dropped = false;  ///< comes when the queue ends
    bool is_undone = false;   ///< the device was not given it
    bool waits = false;       ///< its duplicate, which the device has, comes first
    bool breaks = false;      ///< breaks its lane when it comes
    std::uint32_t rule = 0;   ///< the rule that fails it, as Operation::slot has it
  };

  /// Throws std::bad_alloc.
  void hold(const Held& held) { held_.push_back(held); }
  bool empty() const noexcept { return held_.empty(); }

  /// Takes the first one whose turn it is; false when there is none.
  bool take(Held& taken) noexcept {
    if (held_.empty()) {
      return false;
    }
    const std::uint64_t now = detail::now();
    for (std::size_t number = 0; number < held_.size(); ++number) {
      if (held_[number].due <= now && is_turn_of(number)) {
        taken = held_[number];
        held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(number));
        return true;
      }
    }
    return false;
  }
  /// When the first one is due; never without one.
  std::uint64_t next_due() const noexcept {
    std::uint64_t next = detail::never;
    for (std::size_t number = 0; number < held_.size(); ++number) {
      next = is_turn_of(number) ? std::min(next, held_[number].due) : next;
    }
    return next;
  }
  /// Whether a completion of the lane, the place-th that the device gave back, must wait for one that is held.
  bool holds_back(const Lane<Operation>& lane, std::uint64_t place) const noexcept {
    return lane.ordered && std::ranges::any_of(held_, [&](const Held& held) {
             return held.lane == &lane && !held.is_dropped && held.place <= place;
           });
  }
  bool holds(const Lane<Operation>& lane) const noexcept {
    return std::ranges::any_of(held_, [&](const Held& held) { return held.lane == &lane && !held.is_dropped; });
  }
  void release_lost() noexcept {
    for (Held& held : held_) {
      if (std::exchange(held.is_lost, false)) {
        held.due = 0;
      }
    }
  }
  /// The duplicate of the operation is done.
  void release(const Operation& operation) noexcept {
    for (Held& held : held_) {
      if (held.operation == &operation) {
        held.waits = false;
        held.due = 0;
      }
    }
  }
  /// The lane ends, or every lane when it is null: what was dropped or not done is flushed, the rest comes at once.
  void end(const Lane<Operation>* lane) noexcept {
    for (Held& held : held_) {
      if (lane != nullptr && held.lane != lane) {
        continue;
      }
      if (std::exchange(held.is_dropped, false) || std::exchange(held.is_undone, false)) {
        held.status = Status::shutdown;
        held.rule = 0;
      }
      held.due = held.waits ? held.due : 0;
      held.is_lost = held.breaks = false;
    }
  }
  template <class Visit>
  void for_each(Visit visit) noexcept {
    for (Held& held : held_) {
      visit(held);
    }
  }

 private:
  bool is_turn_of(std::size_t number) const noexcept {
    const Held& held = held_[number];
    if (held.is_dropped) {
      return false;
    }
    if (!held.lane->ordered) {
      return true;
    }
    for (std::size_t other = 0; other < held_.size(); ++other) {
      const Held& rival = held_[other];
      const bool before = rival.place < held.place || (rival.place == held.place && other < number);
      if (rival.lane == held.lane && !rival.is_dropped && before) {
        return false;
      }
    }
    return held.lane->returned >= held.place;
  }

  std::vector<Held> held_;
};

}  // namespace pydoca::faulty
