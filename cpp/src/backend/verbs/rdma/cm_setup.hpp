#pragma once

#include "backend/verbs/rdma/cm_link.hpp"
#include "backend/verbs/rdma/rdma_shared.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace pydoca::verbs {

// The steps by which a queue pair becomes a connection by address, as RDMA-CM has them. A step that sets the queue pair
// up throws as the library fails.

/// The requester's first step: sends link's request. False when RDMA-CM refuses it.
bool send_request(ibv_qp& pair, const CmLink& link, const RdmaShared& shared);
/// The answerer's only step. Throws as backend::QueuePair::accept() does.
void accept_request(ibv_qp& pair, const CmLink& link, const RdmaShared& shared,
                    std::span<const std::byte> private_data);
/// The requester's second step, when the peer has accepted. False when RDMA-CM refuses it.
bool confirm_answer(ibv_qp& pair, const CmLink& link, const RdmaShared& shared);

/// Reads and atomics that may be under way at a time from either end: wanted, or what the device can.
std::uint8_t max_reads(const RdmaShared& shared, std::uint8_t wanted) noexcept;
/// Throws invalid_value for more private data than RDMA-CM carries. what: the user's action, for the message.
void require_size(std::span<const std::byte> private_data, std::size_t most, std::string_view what);

}  // namespace pydoca::verbs
