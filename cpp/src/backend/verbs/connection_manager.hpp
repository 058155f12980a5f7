#pragma once

#include "pydoca/backend/rdma.hpp"

#include "backend/verbs/cm_link.hpp"
#include "detail/fd.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace pydoca::verbs {

class QueuePair;
class RdmaQueue;

/// Connections by address (RDMA-CM) of one context. The queue pairs are the context's own; librdmacm, which opens the
/// device a second time, only carries the messages and says how to set them up.
class ConnectionManager {
 public:
  /// Throws not_supported without librdmacm or the kernel's part of it.
  explicit ConnectionManager(RdmaQueue& queue);
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

 private:
  struct Listening {
    std::uint16_t port;
    OwnedId id;
  };

  using Clock = CmLink::Clock;

  OwnedId create_id();
  void watch(int fd) const;
  bool next_message(backend::RdmaEvent& event) noexcept;
  /// Whether an attempt has taken too long, from the first look for a way to the peer's answer.
  bool expire(backend::RdmaEvent& event) noexcept;
  void set_timer() noexcept;
  /// Whether event is one for the context.
  bool handle(const rdma_cm_event& raw, backend::RdmaEvent& event);
  bool take_request(const rdma_cm_event& raw, backend::RdmaEvent& event);
  bool advance(const rdma_cm_event& raw, QueuePair& pair, backend::RdmaEvent& event);
  bool is_on_this_device(const rdma_cm_id& id) const;
  int timeout_ms() const noexcept;

  RdmaQueue& queue_;
  OwnedEventChannel channel_;
  const detail::Fd epoll_;
  const detail::Fd timer_;  ///< of the first deadline, about
  Clock::time_point timer_end_ = Clock::time_point::max();
  std::vector<Listening> listening_;
};

/// Answers a request. Throws as backend::QueuePair::accept() does.
void accept_request(QueuePair& pair, RdmaQueue& queue, std::span<const std::byte> private_data);

}  // namespace pydoca::verbs
