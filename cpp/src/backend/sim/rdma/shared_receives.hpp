#pragma once

#include "pydoca/backend/rdma.hpp"

#include "backend/sim/rdma/completions.hpp"
#include "backend/sim/rdma/inbox.hpp"
#include "backend/sim/rdma/receive_board.hpp"
#include "detail/operation_list.hpp"

#include <cstdint>
#include <vector>

namespace pydoca::sim {

/// The receives of one context, which all its connections share: operations, and their slots on the board that peers
/// map. Belongs to the engine's thread.
class SharedReceives {
 public:
  /// capacity: the receives that may be outstanding, as many as board has slots.
  SharedReceives(ReceiveBoard& board, std::uint32_t capacity, std::uint32_t num_peers, Completions& completions)
      : board_(board), completions_(completions), operations_(capacity), peers_(num_peers) {}
  SharedReceives(const SharedReceives&) = delete;
  SharedReceives& operator=(const SharedReceives&) = delete;

  /// The operation goes to the board as soon as the board has a free slot. There must be room for it: is_full().
  void post(backend::RdmaOperation& operation) noexcept;
  bool is_full() const noexcept { return outstanding_ == operations_.size(); }
  /// A receive is outstanding from began() until ended(), when the engine has it back.
  void began() noexcept { ++outstanding_; }
  void ended() noexcept { --outstanding_; }

  /// The operation of a receive that this peer has taken, or null.
  backend::RdmaOperation* taken(std::uint64_t number, std::uint32_t peer) const noexcept;
  /// That receive has ended: its slot is free.
  void retire(std::uint64_t number) noexcept;
  /// Posts the receives again that a peer had taken and not filled before it was gone.
  void reclaim(std::uint32_t peer) noexcept;
  /// Ends with status every receive that no peer has taken.
  void fail(Status status) noexcept;

  /// The peer to tell of a new receive that it waits for; null: the connection of that number has ended.
  void set_peer(std::uint32_t number, PeerInbox* peer) noexcept { peers_[number] = peer; }

 private:
  void publish() noexcept;

  ReceiveBoard& board_;
  Completions& completions_;
  std::vector<backend::RdmaOperation*> operations_;  ///< by slot of the board; null where it is free
  detail::OperationList unpublished_;
  std::uint32_t outstanding_ = 0;
  std::vector<PeerInbox*> peers_;  ///< by the number of the queue pair; null where it has none
};

}  // namespace pydoca::sim
