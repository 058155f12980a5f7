#pragma once

#include "pydoca/backend/rdma.hpp"
#include "pydoca/segment.hpp"

#include "backend/verbs/memory/region.hpp"
#include "backend/verbs/rdma/counter.hpp"

#include <infiniband/verbs.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace pydoca::verbs {

// All of it is inline, as it runs for every request.

/// The limits of a device for one request.
struct RequestLimits {
  std::size_t ordinal = 0;  ///< the device's
  std::uint32_t max_segments = 0;
  std::uint32_t max_inline_size = 0;
  std::uint64_t max_size = 0;
};

struct Translation {
  ibv_wr_opcode opcode;
  bool fills;  ///< the local list is filled, not sent
};

/// The table is indexed by RdmaOpcode. A receive is not a request: its entry is not used.
inline constexpr std::array<Translation, backend::num_rdma_opcodes> translations{{{IBV_WR_SEND, true},
                                                                                  {IBV_WR_SEND, false},
                                                                                  {IBV_WR_SEND_WITH_IMM, false},
                                                                                  {IBV_WR_RDMA_READ, true},
                                                                                  {IBV_WR_RDMA_WRITE, false},
                                                                                  {IBV_WR_RDMA_WRITE_WITH_IMM, false},
                                                                                  {IBV_WR_ATOMIC_CMP_AND_SWP, true},
                                                                                  {IBV_WR_ATOMIC_FETCH_AND_ADD, true},
                                                                                  {IBV_WR_RDMA_READ, true},
                                                                                  {IBV_WR_RDMA_WRITE, false},
                                                                                  {IBV_WR_ATOMIC_FETCH_AND_ADD, true}}};

inline constexpr int does_not_fit = -1;

/// How many parts of the local list hold, or take, the operation's bytes; does_not_fit when they cannot.
template <bool fills>
int gather(const backend::RdmaOperation& operation, const RequestLimits& limits, ibv_sge* list) noexcept {
  std::uint64_t left = operation.length;
  std::uint32_t room = limits.max_segments;
  ibv_sge* end = list;
  for (const Segment* segment = operation.local; segment != nullptr; segment = segment->next) {
    const Region* const region = region_of(*segment, limits.ordinal);
    if (room-- == 0 || region == nullptr || !(fills ? region->writable() : region->is_local())) [[unlikely]] {
      return does_not_fit;
    }
    const std::uint64_t length = fills ? std::min(segment->tailroom(), left) : segment->data_len;
    if (length != 0) {
      end->addr = fills ? segment->tail() : segment->data;
      end->length = static_cast<std::uint32_t>(length);
      end->lkey = region->lkey();
      ++end;
    }
    left -= length;
  }
  return left == 0 ? static_cast<int>(end - list) : does_not_fit;
}

struct Target {
  std::uint64_t address = 0;
  std::uint32_t rkey = 0;
};

/// Where the operation goes at the peer; false when it may not go there.
inline bool find_target(const backend::RdmaOperation& operation, std::size_t ordinal, Target& target) noexcept {
  if (operation.opcode >= backend::RdmaOpcode::counter_get) {
    const auto* const counter = static_cast<const RemoteCounter*>(operation.counter);
    if (counter == nullptr || operation.length != sizeof(std::uint64_t)) {
      return false;
    }
    target = {counter->address(), counter->rkey()};
    return true;
  }
  if (operation.remote == nullptr) {
    return operation.length == 0;
  }
  const Region* const region = region_of(*operation.remote, ordinal);
  if (region == nullptr || region->is_local() || operation.remote_len < operation.length) [[unlikely]] {
    return false;
  }
  target = {operation.remote_addr, region->rkey()};
  return true;
}

inline bool fill_target(const backend::RdmaOperation& operation, std::size_t ordinal, ibv_send_wr& request) noexcept {
  Target target;
  if (!find_target(operation, ordinal, target)) [[unlikely]] {
    return false;
  }
  if (request.opcode == IBV_WR_ATOMIC_CMP_AND_SWP || request.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
    const bool swaps = request.opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
    request.wr.atomic = {.remote_addr = target.address,
                         .compare_add = swaps ? operation.compare : operation.operand,
                         .swap = operation.operand,
                         .rkey = target.rkey};
    return target.address % sizeof(std::uint64_t) == 0;
  }
  request.wr.rdma = {.remote_addr = target.address, .rkey = target.rkey};
  return true;
}

/// Translates an operation, whose address is its id, into a request that has its list already, with room for
/// max_segments; without a successor, and not signalled. False for what must not reach the device: memory that it does
/// not have, or that may not be written, lists that are too long, a peer's buf that is too small.
inline bool fill_request(const backend::RdmaOperation& operation, const RequestLimits& limits,
                         ibv_send_wr& request) noexcept {
  const auto [opcode, fills] = translations[static_cast<std::size_t>(operation.opcode)];
  const bool is_inline = !fills && operation.length <= limits.max_inline_size;
  // What RC requests do not have is left as it was.
  request.wr_id = reinterpret_cast<std::uint64_t>(&operation);
  request.next = nullptr;
  request.opcode = opcode;
  request.send_flags = is_inline ? IBV_SEND_INLINE : 0;
  request.imm_data = operation.immediate;
  const bool has_target = operation.opcode >= backend::RdmaOpcode::read;
  if (operation.length > limits.max_size || (has_target && !fill_target(operation, limits.ordinal, request)))
      [[unlikely]] {
    return false;
  }
  request.num_sge =
      fills ? gather<true>(operation, limits, request.sg_list) : gather<false>(operation, limits, request.sg_list);
  return request.num_sge != does_not_fit;
}

/// The same of a receive, without its id.
inline bool fill_receive(const backend::RdmaOperation& operation, const RequestLimits& limits, ibv_recv_wr& request,
                         ibv_sge* list) noexcept {
  request = {};
  request.sg_list = list;
  request.num_sge = gather<true>(operation, limits, list);
  return request.num_sge != does_not_fit;
}

}  // namespace pydoca::verbs
