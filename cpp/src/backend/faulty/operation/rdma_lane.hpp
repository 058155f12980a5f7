#pragma once

#include "pydoca/backend/rdma.hpp"

#include "backend/faulty/operation/lane.hpp"

#include <cstdint>
#include <memory>

namespace pydoca::faulty {

/// A lane of RDMA's operations.
class RdmaLane : public Lane<backend::RdmaOperation> {
 public:
  Opcode opcode_of(const backend::RdmaOperation& operation) const noexcept final;
  const Segment* target_of(const backend::RdmaOperation& operation, std::uint64_t& filled) const noexcept final;
  std::uint64_t cut_length(const backend::RdmaOperation& /*operation*/, std::uint64_t length) const noexcept final {
    return length;
  }
  bool is_told_length(const backend::RdmaOperation& operation) const noexcept final;
  bool misreport(backend::RdmaOperation& operation, const Fault& fault) const noexcept final;
  void take_answer(const backend::RdmaOperation& /*from*/, backend::RdmaOperation& /*to*/) const noexcept final {}
  std::shared_ptr<backend::RdmaOperation> copy_of(const backend::RdmaOperation& operation) const final;

 protected:
  ~RdmaLane() = default;
};

}  // namespace pydoca::faulty
