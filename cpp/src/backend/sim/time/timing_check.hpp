#pragma once

#include "pydoca/sim.hpp"

namespace pydoca::sim {

/// Throws invalid_value, naming the first value that makes no sense and what to give instead.
void check_models(const Config& config);
/// Throws invalid_value for a device of the configuration that the topology lacks.
void require_functions(const Config& config, const Topology& topology);

}  // namespace pydoca::sim
