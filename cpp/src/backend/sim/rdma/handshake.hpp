#pragma once

#include "pydoca/types.hpp"

#include "backend/sim/fabric/fabric.hpp"
#include "backend/sim/import/importer.hpp"
#include "backend/sim/memory/blob.hpp"
#include "detail/fd.hpp"
#include "detail/time/time.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>

namespace pydoca::sim {

/// What the two ends of a connection by address tell each other: a request, an answer, and that the requester is ready.
/// Both run on one machine, so structures are sent as they are.
struct HandshakeMessage {
  enum class Step : std::uint32_t { none = 0, request = 1, answer = 2, ready = 3 };
  static constexpr std::uint64_t protocol_number = 0x5059444f43430001;  // "PYDOCC", version 1

  std::uint64_t protocol = protocol_number;
  Step step = Step::request;
  Status status = Status::success;
  Gid from{};
  std::uint32_t port = 0;
  std::uint32_t private_data_len = 0;
  std::array<std::byte, 256> private_data{};
  std::array<std::byte, blob_size> blob{};
};
static_assert(std::is_trivially_copyable_v<HandshakeMessage> &&
              std::has_unique_object_representations_v<HandshakeMessage>);

// A message with private data and without a blob. Throw invalid_value for more private data than RDMA-CM carries.
HandshakeMessage request_with(std::span<const std::byte> private_data);
HandshakeMessage answer_with(std::span<const std::byte> private_data);
/// again: nothing has come. connection_aborted: something else than a message of that step has come, or anything when
/// the step is none.
Status receive_message(int socket, HandshakeMessage::Step step, HandshakeMessage& message) noexcept;

/// One end's part in making a connection, until it is made or has failed. Each phase expects one message of the peer or
/// none; another one ends the handshake.
///
/// | phase     | of the requester            | of the answerer                                         |
/// |-----------|-----------------------------|---------------------------------------------------------|
/// | begun     | waits for the answer        | waits for the application; no message may come          |
/// | importing | imports the peer's inbox; no message may come                                         ||
/// | answered  | -                           | waits for ready                                         |
class Handshake {
 public:
  enum class Role : std::uint8_t { requester, answerer };
  enum class Phase : std::uint8_t { begun, importing, answered };

  /// An answerer. num_open counts the handshakes that exist; it outlives this one.
  Handshake(std::size_t& num_open, detail::Fd socket) noexcept;
  /// A requester, which has no socket before connect().
  Handshake(std::size_t& num_open, const Address& listener, const HandshakeMessage& request);
  /// An answerer that has not answered rejects.
  ~Handshake();
  Handshake(const Handshake&) = delete;
  Handshake& operator=(const Handshake&) = delete;

  /// Connects a requester and sends its request, once; as sim::connect_to() does.
  Status connect() noexcept;
  bool is_connected() const noexcept { return static_cast<bool>(socket_); }
  /// Sends the answer that was kept. Throws connection_aborted when the peer has gone.
  void accept();
  void reject() noexcept;

  /// Enters importing. The import's steps are the queue pair's.
  void begin_import(std::shared_ptr<OwnerAnswer> import) noexcept;
  /// Leaves importing: a failed one can begin again.
  void end_import() noexcept;
  /// Null unless importing.
  OwnerAnswer* import() const noexcept { return import_.get(); }
  /// An answerer's, while it imports; a requester's, once it has come.
  const HandshakeMessage& answer() const noexcept { return answer_; }
  void keep_answer(const HandshakeMessage& answer) noexcept { answer_ = answer; }

  int fd() const noexcept { return socket_.get(); }
  Role role() const noexcept { return role_; }
  Phase phase() const noexcept { return phase_; }
  /// A moment of detail::now().
  std::uint64_t deadline() const noexcept { return deadline_; }
  /// The requester's inbox, as its request described it.
  std::span<const std::byte> peer_blob() const noexcept { return peer_blob_; }
  void set_peer_blob(const std::array<std::byte, blob_size>& blob) noexcept { peer_blob_ = blob; }
  void set_deadline(std::uint64_t deadline) noexcept { deadline_ = deadline; }
  Status send(const HandshakeMessage& message) noexcept;
  /// The message that the phase expects. Statuses of receive_message().
  Status receive(HandshakeMessage& message) noexcept;

 private:
  std::size_t& num_open_;
  detail::Fd socket_;
  const Role role_;
  const std::optional<Address> listener_;  ///< a requester's
  const HandshakeMessage request_;         ///< a requester's
  Phase phase_ = Phase::begun;
  bool has_answered_ = false;  ///< an answerer: it has accepted or rejected
  std::shared_ptr<OwnerAnswer> import_;
  HandshakeMessage answer_;
  std::uint64_t deadline_ = detail::never;
  std::array<std::byte, blob_size> peer_blob_{};
};

}  // namespace pydoca::sim
