#pragma once

#include "pydoca/memory.hpp"

#include "backend/sim/rdma/receive_board.hpp"
#include "detail/fd.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

namespace pydoca::sim {

inline constexpr std::uint32_t max_peers = 1024;  ///< of one context

/// What peers tell a context, and what they may know of it. News is Dekker's pattern: a peer writes what there is to
/// see, sets its bit, then looks whether the engine sleeps; the engine says that it sleeps, then looks for bits.
struct MailboxPage {
  std::atomic<std::uint32_t> asleep{0};
  alignas(64) std::array<std::atomic<std::uint64_t>, max_peers / 64> news{};
  ReceiveBoardState receives;
};

/// A context's mailbox: its own, or as a peer maps it. Receive slots follow the page.
class Mailbox {
 public:
  /// num_receives: a power of 2, or 0. Throws no_memory, operating_system.
  explicit Mailbox(std::uint32_t num_receives);
  /// A peer's, from the files that it sent. Throws not_permitted when they are none, no_memory.
  Mailbox(detail::Fd file, detail::Fd event);
  ~Mailbox();
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  /// Pollable, by the owner: written to when somebody had news while it slept, and when a peer has died.
  int event_fd() const noexcept { return event_.get(); }
  int file() const noexcept { return file_.get(); }
  ReceiveBoard& receives() noexcept { return receives_; }

  // A peer, or anybody else.
  void tell(std::uint32_t peer) noexcept;

  // The owner.
  void fall_asleep() noexcept { page_->asleep.store(1, std::memory_order_seq_cst); }
  /// Also empties the event file. True when it was written to.
  bool wake_up() noexcept;
  bool has_news() const noexcept;
  /// Calls take with each peer that had news.
  template <class Take>
  void take_news(Take take) noexcept {
    for (std::uint32_t word = 0; word < page_->news.size(); ++word) {
      if (page_->news[word].load(std::memory_order_relaxed) == 0) {
        continue;
      }
      for (std::uint64_t bits = page_->news[word].exchange(0, std::memory_order_seq_cst); bits != 0; bits &= bits - 1) {
        take(word * 64 + static_cast<std::uint32_t>(std::countr_zero(bits)));
      }
    }
  }
  /// Has take_news() name the peer; only in the owner's thread.
  void remind(std::uint32_t peer) noexcept {
    page_->news[peer / 64].fetch_or(std::uint64_t{1} << (peer % 64), std::memory_order_relaxed);
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
