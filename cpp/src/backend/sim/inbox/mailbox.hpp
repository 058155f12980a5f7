#pragma once

#include "backend/sim/fabric/notified.hpp"
#include "backend/sim/fabric/wakes.hpp"
#include "backend/sim/inbox/inbox_doorbell.hpp"
#include "detail/thread/atomic.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace pydoca::sim {

inline constexpr std::uint32_t max_peers = 1024;  ///< the limit of one context

/// Which connections of a context have something to attend to, and the context's sleep. A peer rings in the page of
/// its own connection; this process's own threads set bits that no peer can reach. Belongs to the engine's thread,
/// except for notify().
class Mailbox final : public Notified {
 public:
  /// Throws operating_system.
  Mailbox() = default;
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  /// Pollable, edge-triggered.
  int wake_fd() const noexcept { return wakes_.fd(); }
  /// A byte that comes there ends the sleep. Throws operating_system.
  void watch(int socket) { wakes_.watch(socket); }

  /// Looks for rings of a peer from now on; socket is the one by which that peer wakes.
  void add(std::uint32_t number, InboxDoorbell& doorbell, int socket) { peers_.push_back({&doorbell, number, socket}); }
  void remove(std::uint32_t number) noexcept {
    std::erase_if(peers_, [number](const Peer& peer) { return peer.number == number; });
    next_ = 0;
  }

  /// Has the engine attend to that connection. Any thread of this process may call it.
  void notify(std::uint32_t number) noexcept override;
  /// The same in the engine's own thread, which is awake.
  void remind(std::uint32_t number) noexcept {
    bits_[number / 64].fetch_or(std::uint64_t{1} << (number % 64), std::memory_order_relaxed);
    any_bit_.store(true, std::memory_order_relaxed);
  }

  /// Whether there is something to attend to. While awake this asks a few peers, and others the next time; an engine
  /// that is about to sleep asks all.
  bool has_pending() noexcept;
  /// Calls take with the number of each connection that has something to attend to.
  template <class Take>
  void take_pending(Take take) noexcept;
  void fall_asleep() noexcept;
  void wake_up() noexcept;
  /// From fall_asleep() until wake_up(), whether or not it was woken.
  bool is_sleeping() const noexcept { return is_sleeping_; }

 private:
  static constexpr std::size_t peers_per_look = 32;
  struct Peer {
    InboxDoorbell* doorbell;
    std::uint32_t number;
    int socket;
  };

  std::size_t advance() noexcept {
    const std::size_t here = next_;
    next_ = next_ + 1 < peers_.size() ? next_ + 1 : 0;
    return here;
  }

  detail::Atomic<bool> any_bit_{false};
  detail::Atomic<bool> asleep_{false};
  std::size_t next_ = 0;  ///< the peer to ask next
  std::vector<Peer> peers_;
  std::array<detail::Atomic<std::uint64_t>, max_peers / 64> bits_{};
  unsigned sleeps_ = 0;
  bool is_sleeping_ = false;  ///< what the engine's thread knows of asleep_
  Wakes wakes_;
};

template <class Take>
void Mailbox::take_pending(Take take) noexcept {
  if (any_bit_.load(std::memory_order_seq_cst) && any_bit_.exchange(false, std::memory_order_seq_cst)) {
    for (std::uint32_t word = 0; word < bits_.size(); ++word) {
      for (std::uint64_t bits = bits_[word].exchange(0, std::memory_order_seq_cst); bits != 0; bits &= bits - 1) {
        take(word * 64 + static_cast<std::uint32_t>(std::countr_zero(bits)));
      }
    }
  }
  // take() may remove a peer.
  for (std::size_t left = std::min(peers_.size(), peers_per_look); left > 0 && !peers_.empty(); --left) {
    const Peer peer = peers_[std::min(advance(), peers_.size() - 1)];
    if (peer.doorbell->is_pending()) {
      peer.doorbell->answer();
      take(peer.number);
    }
  }
}

}  // namespace pydoca::sim
