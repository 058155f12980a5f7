#pragma once

#include "pydoca/backend/rdma.hpp"
#include "pydoca/rdma.hpp"

#include "library/rdma/rdma_owner.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace pydoca::library {

/// An attempt to connect, which hears of the connection's end.
class RdmaAttempt {
 public:
  virtual void connection_ended() noexcept = 0;

 protected:
  ~RdmaAttempt() = default;
};

class RdmaConnection final : public pydoca::RdmaConnection {
 public:
  RdmaConnection(pydoca::Rdma& rdma, std::uint32_t id, std::unique_ptr<backend::QueuePair> queue_pair, State state);
  ~RdmaConnection() { end(); }

  /// Throws bad_state unless exported, and not connected yet.
  void require_exported() const;
  /// Does what Rdma::connect() does, which has checked the context. answer: from the queue pair's ask_peer(details), or
  /// null.
  void connect(std::span<const std::byte> details, const std::shared_ptr<backend::ImportAnswer>& answer);
  /// Throws bad_state: what was attempted, and the state that forbids it.
  [[noreturn]] void refuse(std::string_view what, std::string_view needed) const;
  bool was_established() const noexcept;
  void begin_close(Status why) noexcept;
  /// Tells the log what happened to the connection; not after end().
  void log(std::string_view what) const noexcept;
  /// Ends one that has no peer yet: there is nothing to wait for, and nothing to report.
  void give_up();
  /// Releases everything, reporting nothing.
  void end() noexcept;
  /// A task that was submitted on the connection has ended.
  [[gnu::always_inline]] void task_done() noexcept {
    if (--outstanding_ == 0 && state_ == State::closing) [[unlikely]] {
      owner().request_report();
    }
  }
  /// The number of the next message that a trace records; never 0.
  std::uint32_t number_message() noexcept { return ++traced_messages_ != 0 ? traced_messages_ : ++traced_messages_; }
  /// The context, unless the end was reported.
  RdmaOwner& owner() const noexcept { return owner_of(*rdma_); }

  using pydoca::RdmaConnection::failure_;
  using pydoca::RdmaConnection::rdma_;
  using pydoca::RdmaConnection::state_;
  State left_ = State::exported;  ///< the state in which closing began
  bool announced_ = false;        ///< its establishment was reported
  std::size_t outstanding_ = 0;   ///< tasks in flight
  std::unique_ptr<backend::QueuePair> queue_pair_;
  std::vector<std::byte> details_;
  std::vector<std::byte> private_data_;
  std::optional<RdmaAddress> addr_;
  std::vector<RdmaAttempt*> attempts_;

 private:
  std::uint32_t traced_messages_ = 0;
};

inline RdmaConnection& of(pydoca::RdmaConnection& connection) noexcept {
  return static_cast<RdmaConnection&>(connection);
}
inline const RdmaConnection& of(const pydoca::RdmaConnection& connection) noexcept {
  return static_cast<const RdmaConnection&>(connection);
}

}  // namespace pydoca::library
