#pragma once

#include "pydoca/backend/notifier.hpp"
#include "pydoca/backend/rdma.hpp"

#include "backend/sim/place/place.hpp"
#include "backend/sim/rdma/mailbox.hpp"
#include "backend/sim/rdma/queue_pair.hpp"
#include "detail/fd.hpp"
#include "detail/operation_list.hpp"

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

namespace pydoca::sim {

class ConnectionManager;

/// The queue pairs of one context, its receives, and what is finished.
class RdmaQueue final : public backend::RdmaQueue {
 public:
  /// Throws invalid_value, no_memory, operating_system.
  RdmaQueue(const Place& place, const backend::RdmaOptions& options, backend::Notifier& notifier);
  ~RdmaQueue() override;

  int fd() const noexcept override { return all_.get(); }
  bool look() noexcept override;
  void arm() noexcept override;
  backend::Operation* poll(bool& more) noexcept override;
  void flush() noexcept override;
  void abort() noexcept override;
  Status post_receive(backend::RdmaOperation& operation, bool flush) noexcept override;
  std::unique_ptr<backend::QueuePair> create_queue_pair() override { return make_pair(); }
  void listen(std::uint16_t port) override;
  void stop_listening(std::uint16_t port) noexcept override;
  std::unique_ptr<backend::QueuePair> connect_to(const backend::RdmaAddress& address,
                                                 std::span<const std::byte> private_data) override;
  bool next_event(backend::RdmaEvent& event) noexcept override;

  // For queue pairs and the connection manager:
  const Place& place() const noexcept { return place_; }
  const backend::RdmaOptions& options() const noexcept { return options_; }
  const std::shared_ptr<Mailbox>& mailbox() const noexcept { return mailbox_; }
  std::unique_ptr<QueuePair> make_pair();
  void forget(QueuePair& pair) noexcept;
  void finish(backend::RdmaOperation& operation, Status status) noexcept {
    operation.status = status;
    finished_.push(operation);
    notifier_.notify();
  }
  /// The operation of a receive that this peer has taken, or null.
  backend::RdmaOperation* taken_receive(std::uint64_t number, std::uint32_t peer) const noexcept;
  /// That receive is over.
  void retire_receive(std::uint64_t number) noexcept;
  /// Posts the receives anew that a peer had taken, who is gone.
  void reclaim_receives(std::uint32_t peer) noexcept;
  void report(QueuePair& pair, backend::RdmaEvent::Kind kind, Status status) noexcept;
  // Queue pairs with a handshake: by its descriptor, the first that is late, and when the next one will be. Null: none.
  QueuePair* find_handshake(int fd) const noexcept;
  QueuePair* find_late_handshake(QueuePair::Clock::time_point now) const noexcept;
  QueuePair::Clock::time_point next_handshake_deadline() const noexcept;
  /// Has poll() attend to all queue pairs then.
  void watch_deadline(QueuePair::Clock::time_point deadline) noexcept;
  /// Has poll() attend to the queue pair again.
  void attend_again(const QueuePair& pair) noexcept;

 private:
  struct Report {
    QueuePair* pair = nullptr;
    backend::RdmaEvent::Kind kind{};
    Status status = Status::success;
  };

  template <class Accept>
  QueuePair* find_with_handshake(Accept accept) const noexcept;
  void gather_news() noexcept;
  void fail_receives(Status status) noexcept;
  void publish_receives() noexcept;
  /// Empties what fd() looks at; whether somebody wrote to the mailbox's event file.
  bool wake_up() noexcept;
  void attend_all() noexcept;
  bool is_overdue() const noexcept { return QueuePair::Clock::now() >= *deadline_; }
  void watch_all();
  void set_timer() noexcept;

  const Place& place_;
  const backend::RdmaOptions options_;
  backend::Notifier& notifier_;
  const std::shared_ptr<Mailbox> mailbox_;
  std::vector<QueuePair*> pairs_;  ///< by number; null where there is none
  std::size_t num_pairs_ = 0;
  std::vector<backend::RdmaOperation*> receives_;  ///< by place on the board; null where it is free
  detail::OperationList unpublished_;
  std::uint32_t outstanding_receives_ = 0;
  detail::OperationList finished_;
  std::deque<Report> reports_;
  std::optional<QueuePair::Clock::time_point> deadline_;  ///< the next one of a message without a receive
  bool removed_ = false;                                  ///< the device's removal was dealt with
  detail::Fd timer_;
  detail::Fd
      all_;  ///< epoll set of the mailbox's event file, the connection manager's, and the timer's if there is one
  std::uint32_t looks_ = 0;
  bool is_gathering_ = false;  ///< within poll()
  std::unique_ptr<ConnectionManager> manager_;
};

}  // namespace pydoca::sim
