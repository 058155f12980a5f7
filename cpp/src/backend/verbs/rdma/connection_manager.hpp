#pragma once

#include "pydoca/backend/rdma.hpp"

#include "backend/verbs/rdma/cm_link.hpp"
#include "backend/verbs/rdma/queue_pair.hpp"
#include "backend/verbs/rdma/rdma_shared.hpp"
#include "detail/fd.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace pydoca::verbs {

/// Connections by address (RDMA-CM) of one context. The queue pairs are the context's own. librdmacm carries the
/// messages and says how to set the queue pairs up; it opens the device a second time.
class ConnectionManager {
 public:
  /// Throws not_supported without librdmacm or the kernel's part of it.
  explicit ConnectionManager(RdmaShared& shared);
  ~ConnectionManager();
  ConnectionManager(const ConnectionManager&) = delete;
  ConnectionManager& operator=(const ConnectionManager&) = delete;

  /// Readable while next_event() may give something.
  int fd() const noexcept { return epoll_.get(); }
  bool next_event(backend::RdmaEvent& event) noexcept;
  void listen(std::uint16_t port);
  void stop_listening(std::uint16_t port) noexcept;
  std::unique_ptr<backend::QueuePair> connect_to(const backend::RdmaAddress& address,
                                                 std::span<const std::byte> private_data);
  /// See RdmaShared::await_peer().
  void await_peer(QueuePair& pair) noexcept;

 private:
  struct Listening {
    std::uint16_t port;
    OwnedId id;
  };

  using Clock = CmLink::Clock;

  OwnedId create_id();
  void watch(int fd) const;
  bool next_message(backend::RdmaEvent& event) noexcept;
  /// Whether an attempt has taken too long, from the search for a route to the peer's answer; event says so.
  bool expire(backend::RdmaEvent& event) noexcept;
  void set_timer() noexcept;
  /// Whether the context must hear of it; then event has it.
  bool handle(const rdma_cm_event& raw, backend::RdmaEvent& event);
  bool take_request(const rdma_cm_event& raw, backend::RdmaEvent& event);
  bool request(QueuePair& pair, backend::RdmaEvent& event);
  void finish(const rdma_cm_event& raw, QueuePair& pair, backend::RdmaEvent& event);
  bool advance(const rdma_cm_event& raw, QueuePair& pair, backend::RdmaEvent& event);
  bool is_on_this_device(const rdma_cm_id& id) const;
  int timeout_ms() const noexcept;

  RdmaShared& shared_;
  OwnedEventChannel channel_;
  const detail::Fd epoll_;
  const detail::Fd timer_;  ///< set to the first deadline of an attempt
  Clock::time_point timer_end_ = Clock::time_point::max();
  std::vector<Listening> listening_;
};

}  // namespace pydoca::verbs
