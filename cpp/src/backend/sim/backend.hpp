#pragma once

#include "pydoca/backend/device.hpp"

namespace pydoca::sim {

/// The simulated BlueField: always available, its functions are the topology's.
backend::Backend& create();

}  // namespace pydoca::sim
