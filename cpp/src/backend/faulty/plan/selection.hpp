#pragma once

#include "pydoca/device_properties.hpp"
#include "pydoca/faults.hpp"

#include "backend/faulty/plan/opcodes.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pydoca::faulty {

/// Throws invalid_value: which rule is wrong, and what to write.
void check(const std::vector<FaultRule>& rules);

/// Whether the rule selects operations of this opcode.
bool selects(const FaultRule& rule, Opcode opcode) noexcept;

/// Whether the rule's device is this one.
bool names(const FaultRule& rule, const DeviceProperties& properties) noexcept;

}  // namespace pydoca::faulty
