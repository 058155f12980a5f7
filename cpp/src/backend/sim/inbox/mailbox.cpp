#include "backend/sim/inbox/mailbox.hpp"

namespace pydoca::sim {

void Mailbox::notify(std::uint32_t number) noexcept {
  bits_[number / 64].fetch_or(std::uint64_t{1} << (number % 64), std::memory_order_seq_cst);
  any_bit_.store(true, std::memory_order_seq_cst);
  if (asleep_.load(std::memory_order_seq_cst) && asleep_.exchange(false, std::memory_order_seq_cst)) {
    wakes_.wake();
  }
}

bool Mailbox::has_pending() noexcept {
  if (any_bit_.load(std::memory_order_seq_cst)) {
    return true;
  }
  for (std::size_t left = is_sleeping_ ? peers_.size() : std::min(peers_.size(), peers_per_look); left > 0; --left) {
    const std::size_t here = advance();
    if (peers_[here].doorbell->is_pending()) {
      next_ = here;  // take_pending() finds it then
      return true;
    }
  }
  return false;
}

void Mailbox::fall_asleep() noexcept {
  is_sleeping_ = true;
  asleep_.store(true, std::memory_order_seq_cst);
  const bool drain = ++sleeps_ % max_unread_wakes == 0;
  for (const Peer& peer : peers_) {
    if (drain) {
      drain_wakes(peer.socket);
    }
    peer.doorbell->fall_asleep();
  }
}

void Mailbox::wake_up() noexcept {
  is_sleeping_ = false;
  asleep_.store(false, std::memory_order_relaxed);
  for (const Peer& peer : peers_) {
    peer.doorbell->wake_up();
  }
}

}  // namespace pydoca::sim
