#pragma once

#include "pydoca/backend/notifier.hpp"
#include "pydoca/backend/rdma.hpp"

#include "backend/verbs/async_events.hpp"
#include "backend/verbs/completions.hpp"
#include "backend/verbs/pair.hpp"
#include "backend/verbs/request.hpp"
#include "detail/operation_list.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace pydoca::verbs {

class ConnectionManager;
class QueuePair;

/// The queue pairs of one context: one completion queue, and one receive queue that all of them share.
class RdmaQueue final : public backend::RdmaQueue {
 public:
  /// Requests that one call to the device may take.
  static constexpr std::uint32_t max_chain = 16;

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

  // For queue pairs and the connection manager:
  Place& place() noexcept { return place_; }
  const backend::RdmaOptions& options() const noexcept { return options_; }
  const PairSettings& settings() const noexcept { return settings_; }
  ibv_cq* completions() const noexcept { return completions_.get(); }
  ibv_srq* receives() const noexcept { return shared_receives_.get(); }
  /// Room for the requests of one chain, each with its list.
  std::array<ibv_send_wr, max_chain>& requests() noexcept { return requests_; }
  std::unique_ptr<QueuePair> make_pair();
  void forget(QueuePair& pair) noexcept;
  /// poll() has it; who calls that is told.
  void finish(backend::RdmaOperation& operation, Status status, backend::QueuePair* pair) noexcept {
    completed(operation, status, pair);
    notifier_.notify();
  }
  /// The same during fetch(), whose caller tells.
  void completed(backend::RdmaOperation& operation, Status status, backend::QueuePair* pair) noexcept {
    operation.status = status;
    operation.queue_pair = pair;
    finished_.push(operation);
  }
  void report(QueuePair& pair, backend::RdmaEvent::Kind kind, Status status) noexcept;
  /// Calls visit for each queue pair.
  template <class Visit>
  void for_each_pair(Visit visit) const {
    for (const auto& [number, pair] : pairs_) {
      visit(*pair);
    }
  }
  bool is_removed() const noexcept { return removed_; }
  void lose_device() noexcept;

 private:
  struct Report {
    QueuePair* pair;
    backend::RdmaEvent::Kind kind;
    Status status;
  };

  void create_receives();
  /// Takes what has completed, for poll().
  void fetch() noexcept;
  void fetch_and_tell() noexcept;
  void complete_receive(const ibv_wc& completion) noexcept;
  void post_receive_now(backend::RdmaOperation& operation) noexcept;
  void fail_receives(Status status) noexcept;
  /// Of completions or receives: what the device has will not come back by itself.
  void lose_queue() noexcept;
  bool take_report(backend::RdmaEvent& event) noexcept;
  void take_async_events() noexcept;
  void take(const AsyncEvents::News& news) noexcept;
  QueuePair* find(std::uint32_t number) noexcept;

  Place& place_;
  const backend::RdmaOptions options_;
  const PairSettings settings_;
  backend::Notifier& notifier_;
  Completions completions_;
  AsyncEvents::Inbox async_events_;
  OwnedReceives shared_receives_;
  std::vector<ibv_sge> segments_;  ///< of requests_, one list after the other; the first is also a receive's
  std::array<ibv_send_wr, max_chain> requests_{};
  std::unordered_map<std::uint32_t, QueuePair*> pairs_;  ///< by number
  QueuePair* last_found_ = nullptr;                      ///< it will often be the next
  std::vector<backend::RdmaOperation*> receives_;        ///< by their id; null where it is free
  std::vector<std::uint32_t> free_receives_;
  detail::OperationList unposted_receives_;
  std::uint32_t outstanding_receives_ = 0;
  detail::OperationList finished_;
  std::vector<Report> reports_;
  std::unique_ptr<ConnectionManager> manager_;
  std::string no_manager_;
  bool removed_ = false;
  bool lost_ = false;  ///< the device or a queue
};

}  // namespace pydoca::verbs
