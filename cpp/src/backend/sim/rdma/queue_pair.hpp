#pragma once

#include "pydoca/backend/rdma.hpp"

#include "backend/sim/rdma/inbox.hpp"
#include "detail/operation_list.hpp"
#include "detail/thread_token.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

namespace pydoca::sim {

class Handshake;
class RdmaQueue;

/// One end of a connection. What reaches into a peer's memory is done where it is posted, on the submitting core, large
/// pieces of it while the engine polls. A message first takes one of the peer's receives, then goes through its inbox;
/// it is sent once the inbox has it.
class QueuePair final : public backend::QueuePair {
 public:
  using Clock = std::chrono::steady_clock;

  QueuePair(RdmaQueue& queue, std::uint32_t number);
  ~QueuePair() override;

  std::vector<std::byte> describe() override { return inbox_.describe(); }
  void connect(std::span<const std::byte> blob) override;
  void accept(std::span<const std::byte> private_data) override;
  void reject() override;
  Status post(backend::RdmaOperation& operation, bool flush) noexcept override;
  void disconnect() noexcept override;

  // For the queue:
  /// Somebody has told of news: takes what has come, and goes on with what waits.
  void attend() noexcept;
  /// Goes on with what was posted without flush.
  void run() noexcept;
  void operation_polled() noexcept { --outstanding_; }
  void tell_peer() noexcept;
  /// Part of making a connection by address; ends with it.
  void set_handshake(std::unique_ptr<Handshake> handshake) noexcept;
  Handshake* handshake() const noexcept { return handshake_.get(); }
  std::uint32_t number() const noexcept { return number_; }

 private:
  enum class Phase : std::uint8_t { fresh, connected, broken };
  struct Incoming {
    backend::RdmaOperation* receive = nullptr;
    RecordHeader first;
    std::uint64_t received = 0;
  };

  std::size_t ordinal() const noexcept { return ordinal_; }
  bool allows_peer(Access needed) const noexcept { return allows(peer_->permissions(), needed); }

  // again: it waits, and somebody will tell.
  Status begin(backend::RdmaOperation& operation) noexcept;
  Status begin_slowly(backend::RdmaOperation& operation) noexcept;
  Status execute(backend::RdmaOperation& operation) noexcept;
  Status move(backend::RdmaOperation& operation) noexcept;
  Status move_piece(backend::RdmaOperation& operation, const Region& there) noexcept;
  const Region* reachable(const backend::RdmaOperation& operation, std::uint64_t length, Access needed) const noexcept;
  Status change_word(const backend::RdmaOperation& operation) noexcept;
  Status use_counter(const backend::RdmaOperation& operation) noexcept;
  Status answer(const backend::RdmaOperation& operation, std::uint64_t word) noexcept;
  Status send(backend::RdmaOperation& operation) noexcept;
  Status send_inside(backend::RdmaOperation& operation) noexcept;
  Status take_receive(backend::RdmaOperation& operation) noexcept;
  Status wait_for_receive() noexcept;
  Status reserve(std::uint64_t size, std::uint64_t& room) noexcept;
  Status fill(const backend::RdmaOperation& operation, std::uint64_t size) noexcept;
  Status send_pieces(backend::RdmaOperation& operation) noexcept;
  Status write_then_tell(backend::RdmaOperation& operation) noexcept;

  void conclude(backend::RdmaOperation& operation, Status status) noexcept;
  void take_records() noexcept;
  Status take_record(const RecordHeader& header) noexcept;
  Status begin_message(const RecordHeader& header) noexcept;
  Status take_payload(const RecordHeader& header) noexcept;
  void finish_receive(Status status) noexcept;

  /// Ends the connection and reports it.
  void lose(Status status) noexcept;
  void close_link(Status of_waiting) noexcept;

  // Together what every operation touches.
  RdmaQueue& queue_;
  const std::uint32_t number_;
  const std::uint32_t depth_;
  const std::size_t ordinal_;
  std::unique_ptr<PeerInbox> peer_;
  detail::OperationList waiting_;
  std::uint32_t outstanding_ = 0;
  Phase phase_ = Phase::fresh;
  const std::uint32_t forks_ = detail::fork_count();
  std::optional<Clock::time_point> deadline_;
  Incoming incoming_;
  std::unique_ptr<Handshake> handshake_;
  Inbox inbox_;
};

}  // namespace pydoca::sim
