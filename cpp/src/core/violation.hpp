#pragma once

#include "pydoca/device.hpp"

#include <cstdint>
#include <string>

namespace pydoca::detail {

struct Violation;

/// A limit that a task's operands can break, as the sentence that names the operand, the limit and the values, and says
/// what to do. It is beside the library whose limit it is.
using Limit = std::string (*)(const Violation& violation, const DeviceInfo& device);

/// The first limit that a task's operands break, with the numbers that its sentence needs.
struct Violation {
  Limit limit = nullptr;      ///< null: nothing is broken
  const char* operand = "";   ///< "src", as DOCA's setters name it
  const char* setting = "";   ///< what sets the limit: a capability, or a setting of the context
  std::uint64_t value = 0;    ///< what was given
  std::uint64_t allowed = 0;  ///< what the limit is
};

/// Notes the violation that a check has found, where why is not null. Answers true, as the check does.
[[gnu::cold]] bool broken(Violation* why, const Violation& violation) noexcept;

/// The limit's sentence. If there is no violation, it says that the device refuses the task for a reason of its own.
std::string explain(const Violation& violation, const DeviceInfo& device);

/// What a fault plan's rule, counted from 1, has to do with a failed operation, message or change.
std::string explain_fault(std::uint32_t rule);

/// What a fatal error of the device's driver means, and what to do.
std::string explain_driver_failure(const Device& device);

}  // namespace pydoca::detail
