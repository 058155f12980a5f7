#pragma once

#include "detail/atomic.hpp"
#include "detail/crash_point.hpp"

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
/// cursor of taken receives is a hint: a peer that finds it late advances it.
struct ReceiveSlot {
  detail::Atomic<std::uint64_t> state;  ///< number of the receive << 16 | peer + 1, or 0 while it is free; or closed
  detail::Atomic<std::uint64_t> room;   ///< bytes
};

struct ReceiveBoardState {
  alignas(64) detail::Atomic<std::uint64_t> posted{0};
  detail::Atomic<std::uint32_t> slots{0};  ///< a power of 2
  alignas(64) detail::Atomic<std::uint64_t> taken{0};
  detail::Atomic<std::uint32_t> wanted{0};  ///< 1: a peer waits for a receive
};

class ReceiveBoard {
 public:
  struct Taken {
    std::uint64_t number = 0;
    std::uint64_t room = 0;
  };

  ReceiveBoard() = default;
  ReceiveBoard(ReceiveBoardState& state, std::span<ReceiveSlot> slots) noexcept : state_(&state), slots_(slots) {}

  std::size_t index_of(std::uint64_t number) const noexcept { return number & (slots_.size() - 1); }

  // The owner.
  std::uint64_t next_number() const noexcept { return state_->posted.load(std::memory_order_relaxed); }
  /// The slot of next_number() must be free. True when a peer waits and must be told.
  bool publish(std::uint64_t room) noexcept {
    const std::uint64_t number = next_number();
    ReceiveSlot& slot = slots_[index_of(number)];
    slot.room.store(room, std::memory_order_relaxed);
    slot.state.store(number << peer_bits, std::memory_order_release);
    detail::crash_point();
    state_->posted.store(number + 1, std::memory_order_seq_cst);
    return state_->wanted.load(std::memory_order_seq_cst) != 0 &&
           state_->wanted.exchange(0, std::memory_order_seq_cst) != 0;
  }
  /// Whether the slot holds a receive that this peer has taken.
  bool is_taken_by(std::size_t index, std::uint32_t peer) const noexcept {
    const std::uint64_t state = slots_[index].state.load(std::memory_order_acquire);
    return state != closed && (state & peer_mask) == peer + 1;
  }
  bool is_taken_by(std::size_t index, std::uint64_t number, std::uint32_t peer) const noexcept {
    return slots_[index].state.load(std::memory_order_acquire) == (number << peer_bits | (peer + 1));
  }
  /// Frees a slot whose receive has ended, or whose peer is gone.
  void close(std::size_t index) noexcept { slots_[index].state.store(closed, std::memory_order_release); }
  /// Takes back a receive that no peer has taken; false when a peer has taken it.
  bool withdraw(std::size_t index) noexcept {
    std::uint64_t state = slots_[index].state.load(std::memory_order_acquire);
    return state != closed && (state & peer_mask) == 0 &&
           slots_[index].state.compare_exchange_strong(state, closed, std::memory_order_seq_cst);
  }

  // A peer.
  std::optional<Taken> take(std::uint32_t peer) noexcept {
    for (;;) {
      std::uint64_t number = state_->taken.load(std::memory_order_seq_cst);
      if (slots_.empty() || number >= state_->posted.load(std::memory_order_seq_cst)) {
        return std::nullopt;
      }
      ReceiveSlot& slot = slots_[index_of(number)];
      std::uint64_t untaken = number << peer_bits;
      const bool mine =
          slot.state.compare_exchange_strong(untaken, number << peer_bits | (peer + 1), std::memory_order_seq_cst);
      detail::crash_point();
      std::uint64_t late = number;
      state_->taken.compare_exchange_strong(late, number + 1, std::memory_order_seq_cst);
      detail::crash_point();
      if (mine) {
        return Taken{.number = number, .room = slot.room.load(std::memory_order_relaxed)};
      }
    }
  }
  /// The next receive posted will say so. Then take() must be tried again.
  void want() noexcept { state_->wanted.store(1, std::memory_order_seq_cst); }

 private:
  static constexpr int peer_bits = 16;
  static constexpr std::uint64_t peer_mask = 0xffff;
  static constexpr std::uint64_t closed = ~std::uint64_t{0};

  ReceiveBoardState* state_ = nullptr;
  std::span<ReceiveSlot> slots_;
};

static_assert(detail::Atomic<std::uint64_t>::is_always_lock_free && std::is_standard_layout_v<ReceiveSlot>);

}  // namespace pydoca::sim
