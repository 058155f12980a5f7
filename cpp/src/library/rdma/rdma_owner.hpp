#pragma once

#include "pydoca/backend/rdma.hpp"
#include "pydoca/rdma.hpp"

#include "library/queue_context.hpp"

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace pydoca::library {

/// The part of an Rdma context that its connections and tasks use: its settings, its queue, and its list of
/// connections. It knows neither of their classes.
class RdmaOwner : public detail::QueueContext<pydoca::Rdma> {
 public:
  backend::RdmaQueue& rdma_queue() const noexcept { return static_cast<backend::RdmaQueue&>(*queue()); }
  /// Throws bad_state unless running, and not_permitted in a thread that is not the engine's; what was attempted begins
  /// the message.
  void require_running(std::string_view what) const;
  /// The same, and throws refusal at max_num_connections.
  void require_room(std::string_view what, Status refusal) const;
  void erase(pydoca::RdmaConnection& connection) noexcept;
  /// Has progress check for connections with something to report.
  void request_report() noexcept;

  backend::RdmaOptions options_;
  std::uint32_t wanted_send_queue_size_ = 0;  ///< 0: as many as are configured
  Access permissions_{};
  ConnectionRequested requested_ = nullptr;
  ConnectionChanged established_ = nullptr;
  ConnectionChanged failed_ = nullptr;
  ConnectionChanged disconnected_ = nullptr;
  std::vector<std::shared_ptr<pydoca::RdmaConnection>> connections_;
  std::vector<std::uint16_t> ports_;

 protected:
  using QueueContext::QueueContext;

  std::string_view task_name(std::size_t kind) const noexcept override {
    return name_of(static_cast<RdmaTaskKind>(kind));
  }

  bool reports_due_ = false;
};

inline RdmaOwner& owner_of(pydoca::Rdma& rdma) noexcept { return static_cast<RdmaOwner&>(rdma); }

}  // namespace pydoca::library
