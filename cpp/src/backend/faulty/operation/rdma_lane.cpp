#include "backend/faulty/operation/rdma_lane.hpp"

#include "backend/faulty/operation/data.hpp"

namespace pydoca::faulty {

using backend::RdmaOpcode;
using backend::RdmaOperation;

Opcode RdmaLane::opcode_of(const RdmaOperation& operation) const noexcept {
  return number_of(static_cast<RdmaTaskKind>(operation.opcode));
}

const Segment* RdmaLane::target_of(const RdmaOperation& operation, std::uint64_t& filled) const noexcept {
  if (sends(operation.opcode) || operation.opcode == RdmaOpcode::counter_set) {
    return nullptr;
  }
  const bool is_word = operation.opcode != RdmaOpcode::receive && operation.opcode != RdmaOpcode::read;
  filled = is_word ? sizeof(std::uint64_t) : operation.length;
  return operation.local;
}

bool RdmaLane::is_told_length(const RdmaOperation& operation) const noexcept {
  return operation.opcode == RdmaOpcode::receive || operation.opcode == RdmaOpcode::read;
}

bool RdmaLane::misreport(RdmaOperation& operation, const Fault& fault) const noexcept {
  const std::uint64_t moved = std::exchange(operation.length, misreported(fault, operation.length));
  return operation.length != moved;
}

std::shared_ptr<RdmaOperation> RdmaLane::copy_of(const RdmaOperation& operation) const {
  auto copy = std::make_shared<RdmaOperation>(operation);
  copy->next = nullptr;
  copy->outcome = Status::success;
  copy->own = {};
  return copy;
}

}  // namespace pydoca::faulty
