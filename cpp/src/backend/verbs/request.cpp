#include "backend/verbs/request.hpp"

#include "backend/verbs/counter.hpp"
#include "backend/verbs/region.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace pydoca::verbs {

using backend::RdmaOpcode;
using backend::RdmaOperation;
using backend::Segment;

namespace {

constexpr std::uint64_t word_size = sizeof(std::uint64_t);

bool fills(RdmaOpcode opcode) noexcept {
  switch (opcode) {
    case RdmaOpcode::receive:
    case RdmaOpcode::read:
    case RdmaOpcode::compare_swap:
    case RdmaOpcode::fetch_add:
    case RdmaOpcode::counter_get:
    case RdmaOpcode::counter_add:
      return true;
    default:
      return false;
  }
}

ibv_wr_opcode opcode_of(RdmaOpcode opcode) noexcept {
  switch (opcode) {
    case RdmaOpcode::send_imm:
      return IBV_WR_SEND_WITH_IMM;
    case RdmaOpcode::read:
    case RdmaOpcode::counter_get:
      return IBV_WR_RDMA_READ;
    case RdmaOpcode::write:
    case RdmaOpcode::counter_set:
      return IBV_WR_RDMA_WRITE;
    case RdmaOpcode::write_imm:
      return IBV_WR_RDMA_WRITE_WITH_IMM;
    case RdmaOpcode::compare_swap:
      return IBV_WR_ATOMIC_CMP_AND_SWP;
    case RdmaOpcode::fetch_add:
    case RdmaOpcode::counter_add:
      return IBV_WR_ATOMIC_FETCH_AND_ADD;
    default:
      return IBV_WR_SEND;
  }
}

/// The parts of a local list that hold, or take, the operation's bytes; nothing when they cannot.
std::optional<int> gather(const RdmaOperation& operation, const RequestLimits& limits, ibv_sge* list) noexcept {
  const bool writes = fills(operation.opcode);
  std::uint64_t left = operation.length;
  std::uint32_t elements = 0;
  int count = 0;
  for (const Segment* segment = operation.local; segment != nullptr; segment = segment->next) {
    const Region* const region = region_of(*segment, limits.ordinal);
    if (++elements > limits.max_segments || region == nullptr || !region->is_local() ||
        (writes && !region->writable())) {
      return std::nullopt;
    }
    const std::uint64_t address = writes ? segment->tail() : segment->data;
    const std::uint64_t length = std::min(writes ? segment->tailroom() : segment->data_len, left);
    if (length != 0) {
      list[count++] = {.addr = address, .length = static_cast<std::uint32_t>(length), .lkey = region->lkey()};
    }
    left -= length;
  }
  return left == 0 ? std::optional(count) : std::nullopt;
}

struct Target {
  std::uint64_t address = 0;
  std::uint32_t rkey = 0;
};

/// Where the operation goes at the peer; nothing when it may not go there.
std::optional<Target> target_of(const RdmaOperation& operation, std::size_t ordinal) noexcept {
  if (operation.opcode >= RdmaOpcode::counter_get) {
    const auto* const counter = static_cast<const RemoteCounter*>(operation.counter);
    return counter != nullptr && operation.length == word_size
               ? std::optional<Target>({counter->address(), counter->rkey()})
               : std::nullopt;
  }
  if (operation.remote == nullptr) {
    return operation.length == 0 ? std::optional<Target>(Target{}) : std::nullopt;
  }
  const Region* const region = region_of(*operation.remote, ordinal);
  if (region == nullptr || region->is_local() || operation.remote_len < operation.length) {
    return std::nullopt;
  }
  return Target{operation.remote_addr, region->rkey()};
}

bool fill_target(const RdmaOperation& operation, std::size_t ordinal, ibv_send_wr& request) noexcept {
  const std::optional<Target> target = target_of(operation, ordinal);
  if (!target.has_value()) {
    return false;
  }
  if (request.opcode == IBV_WR_ATOMIC_CMP_AND_SWP || request.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
    const bool swaps = request.opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
    request.wr.atomic = {.remote_addr = target->address,
                         .compare_add = swaps ? operation.compare : operation.operand,
                         .swap = operation.operand,
                         .rkey = target->rkey};
    return target->address % word_size == 0;
  }
  request.wr.rdma = {.remote_addr = target->address, .rkey = target->rkey};
  return true;
}

}  // namespace

bool fill_request(const RdmaOperation& operation, const RequestLimits& limits, ibv_send_wr& request,
                  ibv_sge* list) noexcept {
  const std::optional<int> count = gather(operation, limits, list);
  if (!count.has_value() || operation.length > limits.max_size) {
    return false;
  }
  request = {};
  request.wr_id = reinterpret_cast<std::uint64_t>(&operation);
  request.sg_list = list;
  request.num_sge = *count;
  request.opcode = opcode_of(operation.opcode);
  request.imm_data = operation.immediate;
  if (!fills(operation.opcode) && operation.length <= limits.max_inline_size) {
    request.send_flags = IBV_SEND_INLINE;
  }
  return operation.opcode < RdmaOpcode::read || fill_target(operation, limits.ordinal, request);
}

bool fill_receive(const RdmaOperation& operation, const RequestLimits& limits, ibv_recv_wr& request,
                  ibv_sge* list) noexcept {
  const std::optional<int> count = gather(operation, limits, list);
  request = {};
  request.sg_list = list;
  request.num_sge = count.value_or(0);
  return count.has_value();
}

}  // namespace pydoca::verbs
