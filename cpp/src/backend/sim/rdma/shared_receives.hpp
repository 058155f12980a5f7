#pragma once

#include "pydoca/backend/rdma.hpp"

#include "backend/sim/inbox/inbox.hpp"
#include "backend/sim/inbox/inbox_doorbell.hpp"
#include "backend/sim/inbox/receive_queue.hpp"
#include "backend/sim/rdma/completions.hpp"
#include "detail/operation_list.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace pydoca::sim {

/// The receives of one context, which all its connections share: the ledger of what stands on the receive queue that
/// peers map. Where they differ, the ledger is right: a peer may have written anything to the receive queue. Belongs to
/// the engine's thread.
class SharedReceives {
 public:
  /// capacity: the receives that may be outstanding, as many as receive queue has slots.
  SharedReceives(ReceiveQueue& receive_queue, std::uint32_t capacity, std::uint32_t num_peers, Completions& completions)
      : receive_queue_(receive_queue), completions_(completions), slots_(capacity), peers_(num_peers) {}
  SharedReceives(const SharedReceives&) = delete;
  SharedReceives& operator=(const SharedReceives&) = delete;

  /// The operation goes to the receive queue as soon as the receive queue has a free slot. There must be room for it:
  /// is_full().
  void post(backend::RdmaOperation& operation) noexcept;
  bool is_full() const noexcept { return outstanding_ == slots_.size(); }
  /// A receive is outstanding from began() until ended(), when the engine has it back.
  void began() noexcept { ++outstanding_; }
  void ended() noexcept { --outstanding_; }

  /// The receive for a message that a peer has sent to the one of that number, or null: then the peer counts as
  /// stalled. Another receive, whose number it sets, when that one does not exist or has a message: the receive queue
  /// may have told the peer so, because another peer breaks the rules.
  backend::RdmaOperation* take(std::uint64_t& number, std::uint32_t peer) noexcept;
  /// That receive has ended: its slot is free.
  void retire(std::uint64_t number) noexcept;
  /// Posts the receives again that a peer had taken and not filled before it was gone.
  void reclaim(std::uint32_t peer) noexcept;
  /// Ends with status every receive that no connected peer has taken.
  void fail(Status status) noexcept;

  /// Lets the peer of that number take receives: it may be connected before this side is.
  void admit(std::uint32_t number) noexcept { peers_[number].admitted = true; }
  /// The peer to tell of a new receive that it waits for; null: the connection of that number has ended.
  void set_peer(std::uint32_t number, PeerInbox* peer) noexcept {
    peers_[number] = {.inbox = peer, .admitted = peer != nullptr};
  }
  /// The peer found no receive on the receive queue, and all that it had sent was taken: doorbell.begin_want() came
  /// before. It is told as soon as there is one, which may be now.
  void tell_of_next(std::uint32_t number, InboxDoorbell& doorbell) noexcept;
  /// Calls visit with the number of each stalled peer, if there is a receive now.
  template <class Visit>
  void take_stalled(Visit visit) noexcept {
    if (num_stalled_ == 0 || first_free() == nullptr) [[likely]] {
      return;
    }
    for (std::uint32_t number = 0; number < peers_.size(); ++number) {
      if (std::exchange(peers_[number].stalled, false)) {
        visit(number);
      }
    }
    num_stalled_ = 0;
  }

 private:
  static constexpr std::uint32_t nobody = ReceiveQueue::nobody;
  struct Slot {
    backend::RdmaOperation* operation = nullptr;  ///< null while it is free
    std::uint64_t number = 0;
    std::uint32_t holder = nobody;  ///< the peer whose message is being received
  };
  struct Peer {
    PeerInbox* inbox = nullptr;
    bool admitted = false;
    bool waits = false;    ///< it wants to be told of the next receive
    bool stalled = false;  ///< its next message has no receive
  };

  Slot& slot_of(std::uint64_t number) noexcept { return slots_[receive_queue_.index_of(number)]; }
  bool is_admitted(std::uint32_t peer) const noexcept { return peer < peers_.size() && peers_[peer].admitted; }
  /// The oldest receive that no message has, if possible one that no peer has taken; null when there is none.
  Slot* first_free() noexcept;
  backend::RdmaOperation* close(Slot& slot) noexcept;
  bool restore_for(std::uint32_t peer) noexcept;
  void publish() noexcept;

  ReceiveQueue& receive_queue_;
  Completions& completions_;
  std::vector<Slot> slots_;  ///< the ledger of the receive queue's slots
  std::uint64_t next_ = 0;   ///< the number of the next receive
  detail::OperationList unpublished_;
  std::uint32_t outstanding_ = 0;
  std::uint32_t num_waiting_ = 0;
  std::uint32_t num_stalled_ = 0;
  std::vector<Peer> peers_;  ///< indexed by the number of the queue pair
};

}  // namespace pydoca::sim
