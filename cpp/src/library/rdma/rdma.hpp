#pragma once

#include "pydoca/backend/rdma.hpp"
#include "pydoca/rdma.hpp"

#include "library/queue_context.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace pydoca::library {

class Rdma final : public detail::QueueContext<pydoca::Rdma> {
 public:
  explicit Rdma(std::shared_ptr<Device> device);
  ~Rdma() override;

  backend::RdmaQueue& rdma_queue() const noexcept { return static_cast<backend::RdmaQueue&>(*queue()); }
  /// Throws not_permitted in a thread that is not the engine's, naming what was attempted.
  void require_thread(std::string_view what) const;
  /// And bad_state unless running.
  void require_running(std::string_view what) const;
  /// And full at max_num_connections.
  void require_room(std::string_view what) const;
  std::shared_ptr<RdmaConnection> add(std::unique_ptr<backend::QueuePair> queue_pair,
                                      pydoca::RdmaConnection::State state);
  void erase(pydoca::RdmaConnection& connection) noexcept;
  /// Has progress check for connections with something to report.
  void request_report() noexcept;
  Status allocate(RdmaTaskKind kind, pydoca::RdmaConnection* connection, std::uint64_t user_data,
                  pydoca::RdmaTask*& task) noexcept;

  backend::RdmaOptions options_;
  std::uint32_t wanted_send_queue_size_ = 0;  ///< 0: as many as are configured
  Access permissions_{};
  ConnectionRequested requested_ = nullptr;
  ConnectionChanged established_ = nullptr;
  ConnectionChanged failed_ = nullptr;
  ConnectionChanged disconnected_ = nullptr;
  std::vector<std::shared_ptr<pydoca::RdmaConnection>> connections_;
  std::vector<std::uint16_t> ports_;

 private:
  Status begin() override;
  void quiesce() noexcept override;
  bool quiesced() const noexcept override { return connections_.empty(); }
  void end() noexcept override;
  bool poll_one(bool& more) noexcept override;
  bool progress_one(bool& more) noexcept override;
  Task& task_of(backend::Operation& operation) const noexcept override;

  void settle_sizes();
  void close_connections(Status why) noexcept;
  bool complete_one(bool& more) noexcept;
  bool deliver_event(bool& more) noexcept;
  bool report_one() noexcept;
  bool take_event() noexcept;
  void take_request() noexcept;
  void take_established(RdmaConnection& connection) noexcept;
  void report_established(RdmaConnection& connection) noexcept;
  void report_end(RdmaConnection& connection) noexcept;

  std::unique_ptr<backend::RdmaEvent> event_;  ///< the one being taken; too big for the stack of each poll
  std::uint32_t next_id_ = 1;
  std::uint32_t completed_since_event_ = 0;
  bool reports_due_ = false;
  bool events_watched_ = false;
};

inline Rdma& of(pydoca::Rdma& rdma) noexcept { return static_cast<Rdma&>(rdma); }
inline const Rdma& of(const pydoca::Rdma& rdma) noexcept { return static_cast<const Rdma&>(rdma); }

}  // namespace pydoca::library
