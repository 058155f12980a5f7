#pragma once

#include "detail/thread/atomic.hpp"
#include "detail/thread/crash_point.hpp"

#include <cstdint>
#include <type_traits>

namespace pydoca::sim {

/// How the peer of a connection tells the owner of an inbox that it has done something, in the page that both map.
/// Waking is Dekker's pattern: the peer does its work, knocks, and reads whether the owner sleeps; the owner writes
/// that it sleeps, then looks for knocks. A peer that writes nonsense here delays only its own messages.
class Knock {
 public:
  // The peer.
  /// True when the owner must be woken.
  bool knock() noexcept {
    pending_.store(1, std::memory_order_seq_cst);
    detail::crash_point();
    return asleep_.load(std::memory_order_seq_cst) != 0 && asleep_.exchange(0, std::memory_order_seq_cst) != 0;
  }
  /// It waits for a receive, and must be told of one. It knocks next.
  void want_receive() noexcept { wants_receive_.store(1, std::memory_order_seq_cst); }

  // The owner.
  bool is_pending() const noexcept { return pending_.load(std::memory_order_seq_cst) != 0; }
  void answer() noexcept { pending_.exchange(0, std::memory_order_seq_cst); }
  void fall_asleep() noexcept { asleep_.store(1, std::memory_order_seq_cst); }
  void wake_up() noexcept { asleep_.store(0, std::memory_order_relaxed); }
  /// Whether the peer has said that it waits for a receive, since the last call.
  bool take_want() noexcept {
    return wants_receive_.load(std::memory_order_seq_cst) != 0 &&
           wants_receive_.exchange(0, std::memory_order_seq_cst) != 0;
  }

 private:
  detail::Atomic<std::uint32_t> pending_{0};
  detail::Atomic<std::uint32_t> asleep_{0};
  detail::Atomic<std::uint32_t> wants_receive_{0};
};

static_assert(detail::Atomic<std::uint32_t>::is_always_lock_free && std::is_standard_layout_v<Knock>);

}  // namespace pydoca::sim
