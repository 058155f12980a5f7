#include "backend/verbs/request.hpp"

#include "backend/verbs/counter.hpp"
#include "backend/verbs/region.hpp"

#include <algorithm>
#include <array>

namespace pydoca::verbs {

using backend::RdmaOpcode;
using backend::RdmaOperation;
using backend::Segment;

namespace {

constexpr std::uint64_t word_size = sizeof(std::uint64_t);

struct Translation {
  ibv_wr_opcode opcode;
  bool fills;  ///< the local list, rather than sending it
};

/// By RdmaOpcode. A receive is no request, so that its opcode does not matter.
constexpr std::array<Translation, backend::num_rdma_opcodes> translations{{{IBV_WR_SEND, true},
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

constexpr const Translation& translation_of(RdmaOpcode opcode) noexcept {
  return translations[static_cast<std::size_t>(opcode)];
}

constexpr int does_not_fit = -1;

/// How many parts of the local list hold, or take, the operation's bytes; does_not_fit when they cannot.
int gather(const RdmaOperation& operation, bool fills, const RequestLimits& limits, ibv_sge* list) noexcept {
  std::uint64_t left = operation.length;
  std::uint32_t room = limits.max_segments;
  int count = 0;
  for (const Segment* segment = operation.local; segment != nullptr; segment = segment->next) {
    const Region* const region = region_of(*segment, limits.ordinal);
    if (room-- == 0 || region == nullptr || !region->is_local() || (fills && !region->writable())) [[unlikely]] {
      return does_not_fit;
    }
    const std::uint64_t length = std::min(fills ? segment->tailroom() : segment->data_len, left);
    if (length != 0) {
      list[count++] = {.addr = fills ? segment->tail() : segment->data,
                       .length = static_cast<std::uint32_t>(length),
                       .lkey = region->lkey()};
    }
    left -= length;
  }
  return left == 0 ? count : does_not_fit;
}

struct Target {
  std::uint64_t address = 0;
  std::uint32_t rkey = 0;
};

/// Where the operation goes at the peer; false when it may not go there.
bool find_target(const RdmaOperation& operation, std::size_t ordinal, Target& target) noexcept {
  if (operation.opcode >= RdmaOpcode::counter_get) {
    const auto* const counter = static_cast<const RemoteCounter*>(operation.counter);
    if (counter == nullptr || operation.length != word_size) {
      return false;
    }
    target = {counter->address(), counter->rkey()};
    return true;
  }
  if (operation.remote == nullptr) {
    return operation.length == 0;
  }
  const Region* const region = region_of(*operation.remote, ordinal);
  if (region == nullptr || region->is_local() || operation.remote_len < operation.length) {
    return false;
  }
  target = {operation.remote_addr, region->rkey()};
  return true;
}

bool fill_target(const RdmaOperation& operation, std::size_t ordinal, ibv_send_wr& request) noexcept {
  Target target;
  if (!find_target(operation, ordinal, target)) {
    return false;
  }
  if (request.opcode == IBV_WR_ATOMIC_CMP_AND_SWP || request.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
    const bool swaps = request.opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
    request.wr.atomic = {.remote_addr = target.address,
                         .compare_add = swaps ? operation.compare : operation.operand,
                         .swap = operation.operand,
                         .rkey = target.rkey};
    return target.address % word_size == 0;
  }
  request.wr.rdma = {.remote_addr = target.address, .rkey = target.rkey};
  return true;
}

}  // namespace

bool fill_request(const RdmaOperation& operation, const RequestLimits& limits, ibv_send_wr& request,
                  ibv_sge* list) noexcept {
  const auto [opcode, fills] = translation_of(operation.opcode);
  const int count = gather(operation, fills, limits, list);
  if (count == does_not_fit || operation.length > limits.max_size) [[unlikely]] {
    return false;
  }
  const bool is_inline = !fills && operation.length <= limits.max_inline_size;
  // What RC requests do not have is left as it was.
  request.wr_id = reinterpret_cast<std::uint64_t>(&operation);
  request.next = nullptr;
  request.sg_list = list;
  request.num_sge = count;
  request.opcode = opcode;
  request.send_flags = is_inline ? IBV_SEND_INLINE : 0;
  request.imm_data = operation.immediate;
  return operation.opcode < RdmaOpcode::read || fill_target(operation, limits.ordinal, request);
}

bool fill_receive(const RdmaOperation& operation, const RequestLimits& limits, ibv_recv_wr& request,
                  ibv_sge* list) noexcept {
  request = {};
  request.sg_list = list;
  request.num_sge = gather(operation, true, limits, list);
  return request.num_sge != does_not_fit;
}

}  // namespace pydoca::verbs
