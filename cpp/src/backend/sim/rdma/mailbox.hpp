#pragma once

#include "pydoca/memory.hpp"

#include "backend/sim/rdma/receive_board.hpp"
#include "detail/atomic.hpp"
#include "detail/fd.hpp"

#include <array>
#include <cstdint>
#include <memory>

namespace pydoca::sim {

inline constexpr std::uint32_t max_peers = 1024;  ///< of one context

/// Where peers tell a context that they have done something, and what they may read of the context. Waking is Dekker's
/// pattern: a peer does its work, sets its bit, then reads whether the engine sleeps; the engine writes that it sleeps,
/// then reads the bits.
struct MailboxPage {
  detail::Atomic<std::uint32_t> asleep{0};
  alignas(64) std::array<detail::Atomic<std::uint64_t>, max_peers / 64> pending{};
  ReceiveBoardState receives;
};

/// A context's mailbox: its own, or as a peer maps it. The receive slots follow the page.
class Mailbox {
 public:
  /// num_receives: a power of 2, or 0. Throws no_memory, operating_system.
  explicit Mailbox(std::uint32_t num_receives);
  /// A peer's, from the files that it sent. Throws not_permitted when they are not a mailbox's, no_memory.
  Mailbox(detail::Fd file, detail::Fd event);
  ~Mailbox();
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  /// Pollable by the owner: a peer that sets its bit while the owner sleeps writes to it, and so does the exporter when
  /// a peer has died.
  int event_fd() const noexcept { return event_.get(); }
  int file() const noexcept { return file_.get(); }
  ReceiveBoard& receives() noexcept { return receives_; }

  /// Sets the bit of a peer, and wakes the owner if it sleeps. From any thread of any process.
  void tell(std::uint32_t peer) noexcept;
  /// The same for a peer that has died. Wakes the owner in any case: the peer may have taken the flag of the sleep, and
  /// died before it wrote to the event file.
  void tell_of_death(std::uint32_t peer) noexcept;

  // The owner.
  void fall_asleep() noexcept { page_->asleep.store(1, std::memory_order_seq_cst); }
  /// Ends the sleep and empties the event file. True when it was written to.
  bool wake_up() noexcept;
  /// Whether a bit is set.
  bool has_pending() const noexcept;
  /// Clears all bits, and calls take with the number of each peer whose bit was set.
  template <class Take>
  void take_pending(Take take) noexcept {
    for (std::uint32_t word = 0; word < page_->pending.size(); ++word) {
      if (page_->pending[word].load(std::memory_order_relaxed) == 0) {
        continue;
      }
      for (std::uint64_t bits = page_->pending[word].exchange(0, std::memory_order_seq_cst); bits != 0;
           bits &= bits - 1) {
        take(word * 64 + static_cast<std::uint32_t>(std::countr_zero(bits)));
      }
    }
  }
  /// Sets the bit of a peer in the owner's own thread, which is awake.
  void remind(std::uint32_t peer) noexcept {
    page_->pending[peer / 64].fetch_or(std::uint64_t{1} << (peer % 64), std::memory_order_relaxed);
  }

 private:
  void map(std::uint64_t size);

  detail::Fd file_;
  detail::Fd event_;
  void* address_ = nullptr;
  std::uint64_t size_ = 0;
  MailboxPage* page_ = nullptr;
  ReceiveBoard receives_;
};

}  // namespace pydoca::sim
