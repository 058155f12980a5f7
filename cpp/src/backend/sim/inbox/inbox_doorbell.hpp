#pragma once

#include "detail/thread/atomic.hpp"
#include "detail/thread/crash_point.hpp"
#include "detail/time/turn_point.hpp"

#include <cstdint>
#include <type_traits>

namespace pydoca::sim {

/// How the peer of a connection tells the owner of an inbox that it has done something, in the page that both map.
/// Waking is Dekker's pattern: the peer does its work, rings, and reads whether the owner sleeps; the owner writes
/// that it sleeps, then looks for rings. A peer that writes nonsense here delays only its own messages.
class InboxDoorbell {
 public:
  // The peer.
  /// True when the owner must be woken.
  bool ring() noexcept {
    pending_.store(1, std::memory_order_seq_cst);
    detail::crash_point();
    detail::turn_point();
    return asleep_.load(std::memory_order_seq_cst) != 0 && asleep_.exchange(0, std::memory_order_seq_cst) != 0;
  }
  /// It waits for a receive, and must be told of one. It rings next. It has sent a message to each receive that it has
  /// taken, and takes none until it may_take().
  void want_receive() noexcept { want_.store(wanting, std::memory_order_seq_cst); }
  /// Takes a wish back. False while the owner fulfils it, and tells of a receive then.
  bool may_take() noexcept {
    std::uint32_t want = want_.load(std::memory_order_seq_cst);
    if (want == wanting) {
      want_.compare_exchange_strong(want, none, std::memory_order_seq_cst);
    }
    return want != fulfilling;
  }

  // The owner.
  bool is_pending() const noexcept { return pending_.load(std::memory_order_seq_cst) != 0; }
  void answer() noexcept { pending_.exchange(0, std::memory_order_seq_cst); }
  void fall_asleep() noexcept { asleep_.store(1, std::memory_order_seq_cst); }
  void wake_up() noexcept { asleep_.store(0, std::memory_order_relaxed); }
  /// Whether the peer waits for a receive. From then on until end_want() it takes none.
  bool begin_want() noexcept {
    std::uint32_t want = want_.load(std::memory_order_seq_cst);
    return want == wanting && want_.compare_exchange_strong(want, fulfilling, std::memory_order_seq_cst);
  }
  /// The peer may take again. It is told afterwards.
  void end_want() noexcept { want_.store(none, std::memory_order_seq_cst); }
  /// The peer is asked again later.
  void keep_want() noexcept { want_.store(wanting, std::memory_order_seq_cst); }

 private:
  static constexpr std::uint32_t none = 0;
  static constexpr std::uint32_t wanting = 1;
  static constexpr std::uint32_t fulfilling = 2;

  detail::Atomic<std::uint32_t> pending_{0};
  detail::Atomic<std::uint32_t> asleep_{0};
  detail::Atomic<std::uint32_t> want_{none};
};

static_assert(detail::Atomic<std::uint32_t>::is_always_lock_free && std::is_standard_layout_v<InboxDoorbell>);

}  // namespace pydoca::sim
