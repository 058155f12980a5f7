#pragma once

namespace pydoca::detail {

/// Puts the plan of the environment's PYDOCA_FAULTS in force until the program ends, at the first call. The log warns
/// where another plan is in force. Throws as FaultPlan::load_environment() does.
void load_fault_environment();

}  // namespace pydoca::detail
