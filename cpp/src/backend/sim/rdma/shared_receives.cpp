#include "backend/sim/rdma/shared_receives.hpp"

#include <algorithm>
#include <utility>

namespace pydoca::sim {

using backend::RdmaOperation;

void SharedReceives::post(RdmaOperation& operation) noexcept {
  unpublished_.push(operation);
  publish();
}

void SharedReceives::publish() noexcept {
  const std::uint64_t before = next_;
  while (!unpublished_.empty() && slot_of(next_).operation == nullptr) {
    RdmaOperation& operation = *unpublished_.pop();
    slot_of(next_) = {.operation = &operation, .number = next_};
    receive_queue_.publish(next_++, operation.length);
  }
  if (next_ == before || num_waiting_ == 0) [[likely]] {
    return;
  }
  for (Peer& peer : peers_) {
    if (std::exchange(peer.waits, false) && peer.inbox != nullptr) {
      peer.inbox->tell();
    }
  }
  num_waiting_ = 0;
}

RdmaOperation* SharedReceives::take(std::uint64_t& number, std::uint32_t peer) noexcept {
  Slot* slot = slots_.empty() ? nullptr : &slot_of(number);
  if (slot == nullptr || slot->operation == nullptr || slot->number != number || slot->holder != nobody) [[unlikely]] {
    slot = first_free();
  }
  if (slot == nullptr) {
    if (!std::exchange(peers_[peer].stalled, true)) {
      ++num_stalled_;
    }
    return nullptr;
  }
  slot->holder = peer;
  number = slot->number;
  if (receive_queue_.taker(number) != peer) [[unlikely]] {
    receive_queue_.close(receive_queue_.index_of(number));  // nobody else takes it
  }
  return slot->operation;
}

SharedReceives::Slot* SharedReceives::first_free() noexcept {
  Slot* taken = nullptr;
  for (std::size_t back = slots_.size(); back > 0; --back) {
    Slot& slot = slot_of(next_ - back);
    if (slot.operation == nullptr || slot.holder != nobody) {
      continue;
    }
    if (!is_admitted(receive_queue_.taker(slot.number))) {
      return &slot;
    }
    taken = taken != nullptr ? taken : &slot;
  }
  return taken;
}

RdmaOperation* SharedReceives::close(Slot& slot) noexcept {
  receive_queue_.close(receive_queue_.index_of(slot.number));
  return std::exchange(slot, {}).operation;
}

void SharedReceives::retire(std::uint64_t number) noexcept {
  close(slot_of(number));
  publish();
}

void SharedReceives::reclaim(std::uint32_t peer) noexcept {
  for (std::size_t back = 1; back <= slots_.size(); ++back) {  // the latest first: they go to the front
    Slot& slot = slot_of(next_ - back);
    if (slot.operation != nullptr &&
        (slot.holder == peer || (slot.holder == nobody && receive_queue_.taker(slot.number) == peer))) {
      unpublished_.push_front(*close(slot));
    }
  }
  publish();
}

void SharedReceives::fail(Status status) noexcept {
  for (std::size_t back = slots_.size(); back > 0; --back) {
    Slot& slot = slot_of(next_ - back);
    if (slot.operation != nullptr && slot.holder == nobody &&
        (receive_queue_.withdraw(slot.number) || !is_admitted(receive_queue_.taker(slot.number)))) {
      completions_.finish(*close(slot), status);
    }
  }
  while (RdmaOperation* const operation = unpublished_.pop()) {
    completions_.finish(*operation, status);
  }
}

void SharedReceives::tell_of_next(std::uint32_t number, InboxDoorbell& doorbell) noexcept {
  const bool is_there = restore_for(number);
  doorbell.end_want();
  if (is_there) {
    peers_[number].inbox->tell();
  } else if (!std::exchange(peers_[number].waits, true)) {
    ++num_waiting_;
  }
}

/// Restores the receive queue, as a peer says that it can take nothing from it. Whether it can now. What the receive
/// queue says this peer has taken is not so: it sends what it has taken before it asks for the next, and then takes
/// none.
bool SharedReceives::restore_for(std::uint32_t peer) noexcept {
  std::uint64_t first = next_;
  for (const Slot& slot : slots_) {
    if (slot.operation == nullptr || slot.holder != nobody) {
      continue;
    }
    const std::uint32_t taker = receive_queue_.taker(slot.number);
    if (taker != peer && is_admitted(taker)) {
      continue;
    }
    if (taker != nobody) {
      receive_queue_.restore(slot.number);
    }
    first = std::min(first, slot.number);
  }
  if (!slots_.empty()) {
    receive_queue_.restore_cursors(first, next_);
  }
  return first != next_;
}

}  // namespace pydoca::sim
