#pragma once

#include "pydoca/sim_timing.hpp"

namespace pydoca::sim {

/// Throws invalid_value, naming the first value that makes no sense and what to give instead.
void check_config(const Config& config);

}  // namespace pydoca::sim
