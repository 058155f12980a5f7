#pragma once

#include "pydoca/backend/rdma.hpp"
#include "pydoca/types.hpp"

#include "backend/sim/memory/blob.hpp"
#include "detail/fd.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

namespace pydoca::sim {

class ConnectionManager;
class QueuePair;
class RdmaQueue;

/// What the two ends of a connection by address say: a request, an answer, and that the requester is ready. Both run on
/// one machine, so that structures go as they are.
struct HandshakeMessage {
  enum class Step : std::uint32_t { request = 1, answer = 2, ready = 3 };
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

/// One end's part of it, for as long as it lasts.
class Handshake {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Role : std::uint8_t { requester, answerer };

  Handshake(ConnectionManager& manager, detail::Fd socket, Role role) noexcept;
  /// An answerer that has not answered rejects.
  ~Handshake();
  Handshake(const Handshake&) = delete;
  Handshake& operator=(const Handshake&) = delete;

  void accept(QueuePair& pair, std::span<const std::byte> private_data);
  void reject() noexcept;

  int fd() const noexcept { return socket_.get(); }
  Role role() const noexcept { return role_; }
  Clock::time_point deadline() const noexcept { return deadline_; }
  void set_peer_blob(const std::array<std::byte, blob_size>& blob) noexcept { peer_blob_ = blob; }
  void set_deadline(Clock::time_point deadline) noexcept { deadline_ = deadline; }
  Status send(const HandshakeMessage& message) noexcept;

 private:
  ConnectionManager& manager_;
  detail::Fd socket_;
  const Role role_;
  bool answered_ = false;
  Clock::time_point deadline_ = Clock::time_point::max();
  std::array<std::byte, blob_size> peer_blob_{};
};

/// Makes one context's connections by address: within the fabric, an address and a port are a socket's name.
class ConnectionManager {
 public:
  explicit ConnectionManager(RdmaQueue& queue);
  ~ConnectionManager();
  ConnectionManager(const ConnectionManager&) = delete;
  ConnectionManager& operator=(const ConnectionManager&) = delete;

  int fd() const noexcept { return epoll_.get(); }
  void listen(std::uint16_t port);
  void stop_listening(std::uint16_t port) noexcept { listeners_.erase(port); }
  std::unique_ptr<QueuePair> connect_to(const backend::RdmaAddress& address, std::span<const std::byte> private_data);
  bool next_event(backend::RdmaEvent& event) noexcept;
  /// Whether fd() can ever be readable as things are.
  bool is_active() const noexcept { return num_handshakes_ != 0 || !listeners_.empty() || !strangers_.empty(); }
  void handshake_began() noexcept { ++num_handshakes_; }
  void handshake_ended() noexcept { --num_handshakes_; }

 private:
  void watch(int fd);
  detail::Fd connect_to_socket(const backend::RdmaAddress& address, Status& status) const;
  bool serve(int fd, backend::RdmaEvent& event) noexcept;
  void accept_stranger(int listener) noexcept;
  bool serve_stranger(detail::Fd& stranger, backend::RdmaEvent& event) noexcept;
  bool take_request(detail::Fd socket, const HandshakeMessage& request, backend::RdmaEvent& event) noexcept;
  bool serve_handshake(QueuePair& pair, backend::RdmaEvent& event) noexcept;
  Status take_answer(QueuePair& pair, const HandshakeMessage& answer) noexcept;
  bool expire(backend::RdmaEvent& event) noexcept;
  void set_timer() noexcept;

  RdmaQueue& queue_;
  detail::Fd epoll_;
  detail::Fd timer_;
  std::map<std::uint16_t, std::vector<detail::Fd>> listeners_;
  std::vector<detail::Fd> strangers_;  ///< connected, and have not said what they want
  std::size_t num_handshakes_ = 0;
};

}  // namespace pydoca::sim
