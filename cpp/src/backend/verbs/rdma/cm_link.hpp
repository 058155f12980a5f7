#pragma once

#include "backend/verbs/library/cm_library.hpp"
#include "detail/thread/thread_token.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace pydoca::verbs {

/// Gives an identifier of the connection manager back, with the events that belong to it.
struct GiveBackId {
  std::uint32_t forks = detail::fork_count();

  void operator()(rdma_cm_id* id) const noexcept {
    if (forks == detail::fork_count()) {
      cm_library().destroy_id(id);
    }
  }
};
using OwnedId = std::unique_ptr<rdma_cm_id, GiveBackId>;

struct GiveBackEventChannel {
  std::uint32_t forks = detail::fork_count();

  void operator()(rdma_event_channel* channel) const noexcept {
    if (forks == detail::fork_count()) {
      cm_library().destroy_event_channel(channel);
    }
  }
};
using OwnedEventChannel = std::unique_ptr<rdma_event_channel, GiveBackEventChannel>;

/// A queue pair's state in RDMA-CM. id is null for a connection by details.
struct CmLink {
  static constexpr std::size_t max_request_data = 56;
  static constexpr std::size_t max_answer_data = 196;

  using Clock = std::chrono::steady_clock;

  OwnedId id;
  Clock::time_point deadline = Clock::time_point::max();  ///< when the connection fails unless it is made
  bool incoming = false;                                  ///< whether it is to be answered
  std::uint8_t responder_resources = 0;
  std::uint8_t initiator_depth = 0;
  std::array<std::byte, max_request_data> request_data{};
  std::uint8_t request_data_len = 0;
};

}  // namespace pydoca::verbs
