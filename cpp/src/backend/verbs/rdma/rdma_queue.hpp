#pragma once

#include "pydoca/backend/notifier.hpp"
#include "pydoca/backend/rdma.hpp"

#include "backend/verbs/adapter/async_events.hpp"
#include "backend/verbs/rdma/rdma_shared.hpp"
#include "detail/operation_list.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace pydoca::verbs {

class ConnectionManager;

/// The queue pairs of one context: one completion queue, and one receive queue that all of them share.
class RdmaQueue final : public backend::RdmaQueue, private RdmaShared {
 public:
  /// Throws as the library fails, and invalid_value for more than the device has.
  RdmaQueue(Place& place, const backend::RdmaOptions& options, backend::Notifier& notifier);
  ~RdmaQueue() override;

  int fd() const noexcept override { return completions_.fd(); }
  bool look() noexcept override;
  void arm() noexcept override { completions_.arm(); }
  backend::Operation* poll(bool& more) noexcept override;
  void flush() noexcept override;
  void abort() noexcept override;
  Status post_receive(backend::RdmaOperation& operation, bool flush) noexcept override;
  std::unique_ptr<backend::QueuePair> create_queue_pair() override;
  void listen(std::uint16_t port) override;
  void stop_listening(std::uint16_t port) noexcept override;
  std::unique_ptr<backend::QueuePair> connect_to(const backend::RdmaAddress& address,
                                                 std::span<const std::byte> private_data) override;
  bool next_event(backend::RdmaEvent& event) noexcept override;
  int event_fd() const noexcept override;

  using RdmaShared::completions;

 private:
  std::unique_ptr<QueuePair> make_pair() override;
  void await_peer(QueuePair& pair) noexcept override;
  void forget(QueuePair& pair) noexcept override;
  void lose_device() noexcept override;
  void create_receives();
  /// Takes what has completed, for poll().
  void fetch() noexcept;
  void fetch_and_tell() noexcept;
  void complete_receive(const ibv_wc& completion) noexcept;
  void post_receive_now(backend::RdmaOperation& operation) noexcept;
  void fail_receives(Status status) noexcept;
  /// The device has given up the queue of completions or receives: what the device has will not come back by itself.
  void lose_queue() noexcept;
  bool take_report(backend::RdmaEvent& event) noexcept;
  void take_async_events() noexcept;
  void take(const AsyncEvents::Event& event) noexcept;
  QueuePair* find(std::uint32_t number) noexcept;

  AsyncEvents::Inbox async_events_;
  std::vector<ibv_sge> segments_;    ///< belong to requests_, one list after the other; the first is also a receive's
  QueuePair* last_found_ = nullptr;  ///< also the next one, probably
  std::vector<backend::RdmaOperation*> receives_;  ///< indexed by their id; null where it is free
  std::vector<std::uint32_t> free_receives_;
  detail::OperationList unposted_receives_;
  std::uint32_t outstanding_receives_ = 0;
  std::unique_ptr<ConnectionManager> manager_;
  std::string no_manager_;
  bool lost_ = false;  ///< the device or a queue
};

}  // namespace pydoca::verbs
