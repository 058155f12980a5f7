#pragma once

#include "detail/thread/atomic.hpp"
#include "detail/thread/crash_point.hpp"
#include "detail/time/turn_point.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>

namespace pydoca::sim {

/// The receives that one context has posted, in memory that all its peers map: each message takes the next one before
/// it is sent, so the sender knows whether there is one and how much fits, and completes without the owner's help. One
/// compare-and-swap takes a slot and names the peer, so a peer that is killed at any point leaves a clear state. The
/// cursor of taken receives is a hint: a peer that finds it late advances it. The owner believes nothing of it: its own
/// ledger (SharedReceives) says which receives there are, and it restores what a peer has written against the rules.
struct ReceiveSlot {
  detail::Atomic<std::uint64_t> state;  ///< number of the receive << 16 | peer + 1, or 0 while it is free; or closed
  detail::Atomic<std::uint64_t> room;   ///< bytes
};

struct ReceiveQueueState {
  alignas(64) detail::Atomic<std::uint64_t> posted{0};
  detail::Atomic<std::uint32_t> slots{0};  ///< a power of 2
  alignas(64) detail::Atomic<std::uint64_t> taken{0};
};

class ReceiveQueue {
 public:
  struct Taken {
    std::uint64_t number = 0;
    std::uint64_t room = 0;
  };

  ReceiveQueue() = default;
  ReceiveQueue(ReceiveQueueState& state, std::span<ReceiveSlot> slots) noexcept : state_(&state), slots_(slots) {}

  std::size_t index_of(std::uint64_t number) const noexcept { return number & (slots_.size() - 1); }

  // The owner.
  /// The slot of number, the one after the last, must be free.
  void publish(std::uint64_t number, std::uint64_t room) noexcept {
    ReceiveSlot& slot = slots_[index_of(number)];
    slot.room.store(room, std::memory_order_relaxed);
    slot.state.store(number << peer_bits, std::memory_order_release);
    detail::crash_point();
    detail::turn_point();
    state_->posted.store(number + 1, std::memory_order_seq_cst);
  }
  /// The peer that has taken the receive, by what its slot says; nobody: none has; no_peer: the slot says nonsense.
  std::uint32_t taker(std::uint64_t number) const noexcept {
    const std::uint64_t state = slots_[index_of(number)].state.load(std::memory_order_seq_cst);
    if (state == closed || state >> peer_bits != (number & number_mask)) {
      return no_peer;
    }
    return static_cast<std::uint32_t>(state & peer_mask) - 1;
  }
  /// Makes a receive one that no peer has taken, and corrects the cursors: first is the number of the first such
  /// receive, next the one after the last.
  void restore(std::uint64_t number) noexcept {
    slots_[index_of(number)].state.store(number << peer_bits, std::memory_order_seq_cst);
  }
  void restore_cursors(std::uint64_t first, std::uint64_t next) noexcept {
    state_->posted.store(next, std::memory_order_seq_cst);
    if (state_->taken.load(std::memory_order_seq_cst) > first) {
      state_->taken.store(first, std::memory_order_seq_cst);
    }
  }
  /// Frees a slot whose receive has ended, or whose peer is gone.
  void close(std::size_t index) noexcept { slots_[index].state.store(closed, std::memory_order_release); }
  /// Takes back a receive that no peer has taken; false when a peer has taken it.
  bool withdraw(std::uint64_t number) noexcept {
    std::uint64_t untaken = number << peer_bits;
    return slots_[index_of(number)].state.compare_exchange_strong(untaken, closed, std::memory_order_seq_cst);
  }

  // A peer.
  /// Gives up after many tries, each of which others have thwarted, as if there was no receive.
  std::optional<Taken> take(std::uint32_t peer) noexcept {
    for (std::size_t tries = slots_.empty() ? 0 : slots_.size() + extra_tries; tries > 0; --tries) {
      std::uint64_t cursor = state_->taken.load(std::memory_order_seq_cst);
      const std::uint64_t posted = state_->posted.load(std::memory_order_seq_cst);
      if (cursor >= posted) {
        return std::nullopt;
      }
      // Another peer may have written to the cursors: only receives that have a slot, and numbers that fit one.
      const std::uint64_t number = (posted - std::min<std::uint64_t>(posted - cursor, slots_.size())) & number_mask;
      ReceiveSlot& slot = slots_[index_of(number)];
      std::uint64_t untaken = number << peer_bits;
      const bool mine =
          slot.state.compare_exchange_strong(untaken, number << peer_bits | (peer + 1), std::memory_order_seq_cst);
      detail::crash_point();
      state_->taken.compare_exchange_strong(cursor, number + 1, std::memory_order_seq_cst);
      detail::crash_point();
      detail::turn_point();
      if (mine) {
        return Taken{.number = number, .room = slot.room.load(std::memory_order_relaxed)};
      }
    }
    return std::nullopt;
  }

  static constexpr std::uint32_t nobody = ~std::uint32_t{0};
  static constexpr std::uint32_t no_peer = nobody - 1;

 private:
  static constexpr std::size_t extra_tries = 64;
  static constexpr int peer_bits = 16;
  static constexpr std::uint64_t peer_mask = 0xffff;
  static constexpr std::uint64_t number_mask = ~std::uint64_t{0} >> peer_bits;
  static constexpr std::uint64_t closed = ~std::uint64_t{0};

  ReceiveQueueState* state_ = nullptr;
  std::span<ReceiveSlot> slots_;
};

static_assert(detail::Atomic<std::uint64_t>::is_always_lock_free && std::is_standard_layout_v<ReceiveSlot>);

}  // namespace pydoca::sim
