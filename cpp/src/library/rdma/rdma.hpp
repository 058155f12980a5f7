#pragma once

#include "pydoca/backend/rdma.hpp"
#include "pydoca/rdma.hpp"

#include "library/rdma/rdma_owner.hpp"

#include <cstdint>
#include <memory>

namespace pydoca::library {

class Rdma final : public RdmaOwner {
 public:
  explicit Rdma(std::shared_ptr<Device> device);
  ~Rdma() override;

  std::shared_ptr<RdmaConnection> add(std::unique_ptr<backend::QueuePair> queue_pair,
                                      pydoca::RdmaConnection::State state);
  Status allocate(RdmaTaskKind kind, pydoca::RdmaConnection* connection, std::uint64_t user_data,
                  pydoca::RdmaTask*& task) noexcept;

 private:
  Status begin() override;
  void quiesce() noexcept override;
  bool quiesced() const noexcept override { return connections_.empty(); }
  void end() noexcept override;
  Status refuses_close() const noexcept override { return Status::bad_state; }
  [[gnu::always_inline]] bool poll_one(bool& more) noexcept override;
  bool progress_one(bool& more) noexcept override;
  Task& task_of(backend::Operation& operation) const noexcept override;
  void silence() noexcept override;

  void settle_sizes();
  void close_connections(Status why) noexcept;
  bool complete_one(bool& more) noexcept;
  void announce_connection_of(const RdmaTask& task) noexcept;
  // Apart, as completions rarely need them, and would save their registers.
  [[gnu::cold, gnu::noinline]] void complete_failed(RdmaTask& task) noexcept;
  [[gnu::cold, gnu::noinline]] void announce(RdmaConnection& connection) noexcept;
  [[gnu::noinline]] bool deliver_event(bool& more) noexcept;
  bool report_one() noexcept;
  bool take_event() noexcept;
  void take_request() noexcept;
  std::vector<std::byte> private_data_of_event() const;
  void take_established(RdmaConnection& connection) noexcept;
  void report_established(RdmaConnection& connection) noexcept;
  void report_end(RdmaConnection& connection) noexcept;

  std::unique_ptr<backend::RdmaEvent> event_;  ///< the one being taken; too big for the stack of each poll
  std::uint32_t next_id_ = 1;
  std::uint32_t completed_since_event_ = 0;
  bool events_watched_ = false;
};

inline Rdma& of(pydoca::Rdma& rdma) noexcept { return static_cast<Rdma&>(rdma); }
inline const Rdma& of(const pydoca::Rdma& rdma) noexcept { return static_cast<const Rdma&>(rdma); }

}  // namespace pydoca::library
