#pragma once

#include "pydoca/backend/notifier.hpp"
#include "pydoca/backend/rdma.hpp"

#include "backend/sim/rdma/queue_pair.hpp"
#include "backend/sim/rdma/rdma_shared.hpp"
#include "detail/fd.hpp"
#include "detail/time/timer.hpp"

#include <cstdint>
#include <memory>

namespace pydoca::sim {

class ConnectionManager;

/// The queue pairs of one context and their completions, as the engine sees them.
class RdmaQueue final : public backend::RdmaQueue, private RdmaShared {
 public:
  /// Throws invalid_value, no_memory, operating_system.
  RdmaQueue(const Place& place, const backend::RdmaOptions& options, backend::Notifier& notifier);
  ~RdmaQueue() override;

  int fd() const noexcept override { return all_.get(); }
  bool look() noexcept override;
  void arm() noexcept override;
  bool may_advance_elsewhere(Cpus here) noexcept override;
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

 private:
  std::unique_ptr<QueuePair> make_pair() override;
  void watch_import(QueuePair& pair) override;
  /// Has every queue pair attend to what its peer has done.
  /// Not inlined, as most polls find what has finished without it, and would save its registers.
  [[gnu::noinline]] void attend() noexcept;
  void attend_all() noexcept;
  /// Has every queue pair attend again whose next message found no receive, if there is one now.
  void attend_stalled() noexcept;
  /// Empties what fd() looks at, and ends the sleep.
  void wake_up() noexcept;
  bool is_overdue() const noexcept { return deadline_ != detail::never && detail::now() >= deadline_; }
  void watch_all();

  bool removed_ = false;  ///< the device's removal was dealt with
  detail::Timer timer_;   ///< rings at deadline_, while the engine sleeps
  bool timer_on_ = false;
  /// An epoll set of the mailbox's wake-ups, the connection manager's descriptor, and the timer.
  detail::Fd all_;
  std::uint32_t looks_ = 0;
  std::uint64_t shortest_receive_ = ~std::uint64_t{0};  ///< bytes, of all that were ever posted
  std::unique_ptr<ConnectionManager> manager_;
};

}  // namespace pydoca::sim
