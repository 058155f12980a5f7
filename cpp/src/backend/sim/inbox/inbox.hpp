#pragma once

#include "backend/sim/import/importer.hpp"
#include "backend/sim/inbox/inbox_doorbell.hpp"
#include "backend/sim/inbox/mailbox.hpp"
#include "backend/sim/inbox/message_ring.hpp"
#include "backend/sim/inbox/receive_queue_file.hpp"
#include "backend/sim/memory/local_region.hpp"
#include "backend/sim/memory/revocation_page.hpp"
#include "backend/sim/place/place.hpp"
#include "detail/thread/atomic.hpp"
#include "detail/thread/shared_cpus.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace pydoca::sim {

/// The first page of the memory by which a queue pair receives; its one peer maps it. The ring's bytes follow.
struct InboxPage {
  std::uint64_t token = 0;                  ///< the owner's token; random, never 0
  std::uint64_t ring_size = 0;              ///< bytes
  std::uint32_t peer_number = 0;            ///< the peer's number on the owner's receive queue
  Access permissions{};                     ///< RDMA flags of the owner's context
  detail::Atomic<std::uint64_t> peer{0};    ///< token of the queue pair that the owner has connected to; 0: none
  detail::Atomic<std::uint64_t> writer{0};  ///< token of the first queue pair that connected: it writes to the ring
  /// Bytes: no receive of the owner's context was ever shorter. A message that is not longer fits, whatever another
  /// peer has written to the receive queue.
  detail::Atomic<std::uint64_t> shortest_receive{~std::uint64_t{0}};
  detail::SharedCpus peer_cpus;  ///< where the peer's engine runs: said before it wakes the owner, and when it sleeps
  alignas(64) InboxDoorbell doorbell;
  MessageRingState ring;
};

/// A queue pair's own inbox.
class Inbox {
 public:
  static constexpr std::uint64_t ring_size = std::uint64_t{256} << 10;

  /// Throws no_memory, operating_system.
  Inbox(const Place& place, const std::shared_ptr<Mailbox>& mailbox, std::shared_ptr<ReceiveQueueFile> receive_queue,
        std::uint32_t peer_number, Access permissions);

  /// The blob by which a peer maps it.
  std::vector<std::byte> describe();
  /// The peer enters no more. One that is inside may write on, to memory that is kept until it has left.
  void withdraw() noexcept { region_.abandon(); }
  InboxPage& page() noexcept { return *page_; }
  MessageRing& ring() noexcept { return ring_; }
  /// The socket by which the peer wakes this process.
  int socket() const noexcept { return sockets_.first.get(); }
  std::uint64_t token() const noexcept { return token_; }

 private:
  const std::shared_ptr<Memory> memory_;
  const std::pair<detail::Fd, detail::Fd> sockets_;
  const std::shared_ptr<Exporter::Attachment> attachment_;
  const std::uint64_t token_;
  InboxPage* const page_;
  MessageRing ring_;
  LocalRegion region_;
};

/// The peer's inbox, mapped here.
class PeerInbox {
 public:
  /// Throws not_permitted when the peer's memory is not an inbox.
  explicit PeerInbox(ImportedInbox imported);

  InboxPage& page() noexcept { return *page_; }
  MessageRing& ring() noexcept { return ring_; }
  ReceiveQueue& receives() noexcept { return receive_queue_->receive_queue(); }
  /// An access to its ring and its receives is inside this page.
  RevocationPage& revocation_page() noexcept { return *revocation_page_; }
  bool is_gone() const noexcept { return revocation_page_->is_closed(); }
  std::uint64_t origin() const noexcept { return origin_; }
  Access permissions() const noexcept { return permissions_; }
  std::uint32_t number() const noexcept { return number_; }
  std::uint64_t token() const noexcept { return token_; }
  void tell() noexcept {
    if (page_->doorbell.ring()) {
      page_->peer_cpus.store(own_cpus());
      send_wake(socket_.get());
    }
  }

 private:
  std::unique_ptr<ImportedRegion> region_;
  std::unique_ptr<ReceiveQueueFile> receive_queue_;
  detail::Fd socket_;
  std::uint64_t origin_;
  RevocationPage* revocation_page_ = nullptr;
  InboxPage* page_ = nullptr;
  MessageRing ring_;
  std::uint64_t token_ = 0;
  std::uint32_t number_ = 0;
  Access permissions_{};
};

}  // namespace pydoca::sim
