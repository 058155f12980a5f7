#pragma once

#include "pydoca/backend.hpp"

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>

namespace pydoca::verbs {

/// What a device takes of one request.
struct RequestLimits {
  std::size_t ordinal = 0;  ///< the device's
  std::uint32_t max_segments = 0;
  std::uint32_t max_inline_size = 0;
  std::uint64_t max_size = 0;
};

/// Translates an operation, whose address is its id; without a successor, and not signalled. list has room for
/// max_segments. False for what must not reach the device: memory that it does not have, or that may not be written,
/// lists that are too long, a peer's buf that is too small.
bool fill_request(const backend::RdmaOperation& operation, const RequestLimits& limits, ibv_send_wr& request,
                  ibv_sge* list) noexcept;
/// The same of a receive, without its id.
bool fill_receive(const backend::RdmaOperation& operation, const RequestLimits& limits, ibv_recv_wr& request,
                  ibv_sge* list) noexcept;

}  // namespace pydoca::verbs
