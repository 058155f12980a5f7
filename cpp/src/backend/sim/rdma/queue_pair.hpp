#pragma once

#include "pydoca/backend/rdma.hpp"

#include "backend/sim/copy/copy.hpp"
#include "backend/sim/inbox/inbox.hpp"
#include "backend/sim/rdma/rdma_shared.hpp"
#include "detail/operation_list.hpp"
#include "detail/thread/thread_token.hpp"

#include <atomic>
#include <cstdint>
#include <memory>

namespace pydoca::sim {

class Handshake;
struct WordChange;

/// One end of a connection. Reads, writes and atomics run on the submitting core, where they are posted; long ones
/// continue piece by piece while the engine polls. A message first takes one of the peer's receives, then goes through
/// the peer's inbox; it is sent once the inbox has it. Its code stands in four files: this one's name for the
/// connection and the queue, queue_pair_access for the peer's memory, queue_pair_send and queue_pair_receive for
/// messages.
class QueuePair final : public backend::QueuePair {
 public:
  QueuePair(RdmaShared& shared, std::uint32_t number);
  ~QueuePair() override;

  std::vector<std::byte> describe() override;
  std::shared_ptr<backend::ImportAnswer> ask_peer(std::span<const std::byte> blob) override;
  void connect(std::span<const std::byte> blob, const std::shared_ptr<backend::ImportAnswer>& answer) override;
  void accept(std::span<const std::byte> private_data) override;
  void reject() override;
  Status post(backend::RdmaOperation& operation, bool flush) noexcept override;
  void disconnect() noexcept override;
  /// Goes on with the connection of an open handshake. again: the import of the peer's inbox is under way. success: the
  /// connection is up, and the peer was told. Throws as connect() does, and connection_aborted for what the peer sent.
  Status begin_import(std::span<const std::byte> peer);
  Status continue_import();
  std::uint64_t trace_id() const noexcept override { return trace_id_; }

  // The queue uses these:
  /// Takes what has come from the peer, and goes on with the operations that wait.
  void attend() noexcept;
  /// Goes on with the operations that wait.
  void run() noexcept;
  void operation_polled() noexcept { --outstanding_; }
  /// Whether the peer may do something while a thread on here, the engine's, is busy; tells the peer of here.
  bool may_advance_elsewhere(Cpus here) noexcept {
    if (peer_ != nullptr) {
      peer_->page().peer_cpus.store(here);
    }
    return peer_ != nullptr && inbox_.page().peer_cpus.load().may_run_beside(here);
  }
  /// Called before the context posts its first receive of that length.
  void set_shortest_receive(std::uint64_t length) noexcept {
    inbox_.page().shortest_receive.store(length, std::memory_order_release);
  }
  /// The handshake of a connection by address, until the connection is made or has failed; null otherwise.
  void set_handshake(std::unique_ptr<Handshake> handshake) noexcept;
  Handshake* handshake() const noexcept { return handshake_.get(); }
  std::uint32_t number() const noexcept { return number_; }

 private:
  /// attached: this side has connected, and its operations wait until the peer has as well, as those of a real queue
  /// pair are sent again until then.
  enum class Phase : std::uint8_t { fresh, attached, connected, broken };
  struct Incoming {
    backend::RdmaOperation* receive = nullptr;
    RecordHeader first;
    std::uint64_t received = 0;
  };

  // An operation's own words.
  static constexpr std::size_t offset_word = 0;   ///< bytes moved so far
  static constexpr std::size_t receive_word = 1;  ///< number + 1 of the receive it has taken; 0: none
  static constexpr std::size_t ticket_word = 2;   ///< the ticket of an atomic operation that the owner was asked for
  /// More than this is moved while the engine polls, piece by piece.
  static constexpr std::uint64_t largest_piece = std::uint64_t{256} << 10;

  std::size_t ordinal() const noexcept { return ordinal_; }
  bool has_link() const noexcept { return phase_ == Phase::attached || phase_ == Phase::connected; }
  bool allows_peer(Access needed) const noexcept { return allows(peer_->permissions(), needed); }

  void require_fresh() const;
  OwnersEnd owners_end() const;
  /// Connects to a peer whose inbox was imported.
  void attach(ImportedInbox inbox);
  /// Goes from attached to connected once the peer has connected.
  void look_for_peer() noexcept;

  // Operations. again: the operation waits; the peer, a deadline or poll() continues it.
  bool access_at_once(const backend::RdmaOperation& operation) noexcept;
  template <bool reads>
  bool copy_at_once(const backend::RdmaOperation& operation) noexcept;
  [[gnu::noinline]] void begin_slowly(backend::RdmaOperation& operation) noexcept;
  Status execute(backend::RdmaOperation& operation) noexcept;
  Status move(backend::RdmaOperation& operation) noexcept;
  Status move_piece(backend::RdmaOperation& operation, const Region& there) noexcept;
  /// The peer's memory that the operation names, or null unless memory and connection permit the access.
  [[gnu::always_inline]] const Region* reachable(const backend::RdmaOperation& operation, std::uint64_t length,
                                                 Access needed) const noexcept {
    const Region* const there = operation.remote != nullptr ? region_of(*operation.remote, ordinal()) : nullptr;
    const bool sound = there != nullptr && length <= operation.remote_len &&
                       allows(peer_->permissions() & there->network_access(), needed) &&
                       there->origin() == peer_->origin() && there->contains(operation.remote_addr, length);
    return sound ? there : nullptr;
  }
  Status change_word(backend::RdmaOperation& operation) noexcept;
  Status ask_owner(backend::RdmaOperation& operation, const Region& there, const WordChange& change,
                   std::uint64_t& before) noexcept;
  void forget_question(const backend::RdmaOperation& operation) noexcept;
  Status use_counter(const backend::RdmaOperation& operation) noexcept;
  Status answer(const backend::RdmaOperation& operation, std::uint64_t word) noexcept;
  static RecordHeader header_of(const backend::RdmaOperation& operation, RecordType type) noexcept;
  Status send(backend::RdmaOperation& operation) noexcept;
  Status send_inside(backend::RdmaOperation& operation) noexcept;
  Status take_receive(backend::RdmaOperation& operation) noexcept;
  Status wait_for_receive() noexcept;
  Status reserve(std::uint64_t size, std::uint64_t& room) noexcept;
  Status fill(const backend::RdmaOperation& operation, std::uint64_t size) noexcept;
  Status send_pieces(backend::RdmaOperation& operation) noexcept;
  Status write_then_tell(backend::RdmaOperation& operation) noexcept;

  void conclude(backend::RdmaOperation& operation, Status status) noexcept;
  // The peer's messages.
  bool take_records() noexcept;
  Status take_record(const RecordHeader& header) noexcept;
  Status begin_message(const RecordHeader& header) noexcept;
  Status take_payload(const RecordHeader& header) noexcept;
  void finish_receive(Status status) noexcept;

  void tell_peer() noexcept;
  /// Ends the connection and reports it.
  void lose(Status status) noexcept;
  bool has_peer_announced() noexcept;
  void close_link(Status of_waiting) noexcept;

  // Every operation uses these: they are together, in few cache lines.
  RdmaShared& shared_;
  const std::uint32_t number_;
  const std::uint32_t depth_;
  const std::size_t ordinal_;
  const std::atomic<bool>& removed_;  ///< whether the device was removed
  std::unique_ptr<PeerInbox> peer_;
  detail::OperationList waiting_;
  std::uint32_t outstanding_ = 0;
  Phase phase_ = Phase::fresh;
  const std::uint32_t forks_ = detail::fork_count();
  std::uint64_t deadline_ = detail::never;  ///< when the first operation fails that waits for a receive or its answer
  bool wants_receive_ = false;              ///< the peer was asked for one
  Incoming incoming_;
  std::unique_ptr<Handshake> handshake_;
  Inbox inbox_;
  std::uint64_t trace_id_ = 0;  ///< made of both inboxes' tokens, so that both ends have the same
};

}  // namespace pydoca::sim
