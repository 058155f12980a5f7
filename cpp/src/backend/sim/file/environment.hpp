#pragma once

namespace pydoca::sim {

/// Loads what the environment's PYDOCA_TOPOLOGY, or PYDOCA_PROFILE, and PYDOCA_TIMING name, at the first call and where
/// the program has chosen nothing else. Throws invalid_value, naming the variable.
void load_environment();

}  // namespace pydoca::sim
