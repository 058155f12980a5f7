#pragma once

#include "pydoca/backend/rdma.hpp"
#include "pydoca/types.hpp"

#include "backend/sim/fabric/lobby.hpp"
#include "backend/sim/rdma/handshake.hpp"
#include "backend/sim/rdma/queue_pair.hpp"
#include "backend/sim/rdma/rdma_shared.hpp"
#include "detail/fd.hpp"
#include "detail/time/timer.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace pydoca::sim {

/// The socket of a context that listens to that port of a function with that GID.
Address rdma_address(const std::string& fabric, const Gid& gid, std::uint16_t port);

/// Makes one context's connections by address. Within the fabric, an address and a port are a socket's name.
class ConnectionManager {
 public:
  explicit ConnectionManager(RdmaShared& shared);
  ~ConnectionManager();
  ConnectionManager(const ConnectionManager&) = delete;
  ConnectionManager& operator=(const ConnectionManager&) = delete;

  /// Readable while next_event() may give something.
  int fd() const noexcept { return epoll_.get(); }
  /// Throws already_exist when the port is in use.
  void listen(std::uint16_t port);
  void stop_listening(std::uint16_t port) noexcept;
  /// Established or failed follows as an event. Throws invalid_value for too much private data, and as make_pair()
  /// does.
  std::unique_ptr<QueuePair> connect_to(const backend::RdmaAddress& address, std::span<const std::byte> private_data);
  /// See RdmaShared.
  void watch_import(QueuePair& pair);
  /// Fills event with the next one; false when there is none.
  bool next_event(backend::RdmaEvent& event) noexcept;
  /// Whether fd() can become readable: false while nothing listens and no handshake is open.
  bool is_active() const noexcept { return num_handshakes_ != 0 || lobby_ != nullptr; }

 private:
  void watch(int fd);
  /// Connects the requester's socket and sends its request. again: the listener's backlog is full.
  Status begin(Handshake& requester) noexcept;
  bool serve(int fd, backend::RdmaEvent& event) noexcept;
  bool serve_newcomer(detail::Fd socket, backend::RdmaEvent& event) noexcept;
  bool take_request(detail::Fd socket, const HandshakeMessage& request, backend::RdmaEvent& event) noexcept;
  void unwatch(int fd) noexcept;
  bool serve_handshake(QueuePair& pair, backend::RdmaEvent& event) noexcept;
  bool serve_import(QueuePair& pair, backend::RdmaEvent& event) noexcept;
  /// Takes a step that may throw; returns its status.
  template <class Step>
  static Status attempt(Step step) noexcept;
  Status take_answer(QueuePair& pair, const HandshakeMessage& answer);
  /// Ends the pair's handshake, which has come to status. Returns true: event says so.
  bool conclude(QueuePair& pair, Status status, backend::RdmaEvent& event) noexcept;
  bool expire(backend::RdmaEvent& event) noexcept;
  /// Ends the handshake of one requester that cannot succeed any more, or whose time is over.
  bool fail_one(backend::RdmaEvent& event) noexcept;
  bool retry_imports(backend::RdmaEvent& event) noexcept;
  void set_timer() noexcept;
  /// The first queue pair whose handshake meets the condition, or null.
  template <class Condition>
  QueuePair* find_pair(Condition condition) const noexcept;

  RdmaShared& shared_;
  detail::Fd epoll_;
  detail::Timer timer_;
  std::unique_ptr<Lobby> lobby_;                         ///< null while nothing listens
  std::map<std::uint16_t, std::vector<int>> listeners_;  ///< the lobby's sockets, by port
  std::size_t num_handshakes_ = 0;
};

}  // namespace pydoca::sim
