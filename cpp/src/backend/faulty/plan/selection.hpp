#pragma once

#include "pydoca/backend/engine.hpp"
#include "pydoca/faults.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pydoca::faulty {

inline constexpr std::size_t num_opcodes = fault_opcode_names.size();

/// Of RDMA's tasks, by RdmaTaskKind.
constexpr FaultOpcode rdma_opcode(std::size_t kind) noexcept {
  return static_cast<FaultOpcode>(static_cast<std::size_t>(FaultOpcode::rdma_receive) + kind);
}

/// Of an engine's operations: the first of its opcodes, which follow one another.
std::size_t first_opcode_of(const backend::EngineTraits& engine) noexcept;

/// Throws invalid_value: which rule is wrong, and what to write.
void check(const std::vector<FaultRule>& rules);

/// Whether the rule selects operations of this opcode.
bool selects(const FaultRule& rule, FaultOpcode opcode) noexcept;

/// Whether the rule's device is this one.
bool names(const FaultRule& rule, const DeviceProperties& properties) noexcept;

/// Whether a device with these capabilities can be asked to do this.
bool can_do(const Capabilities& capabilities, FaultOpcode opcode) noexcept;

}  // namespace pydoca::faulty
