#pragma once

#include "pydoca/backend/device.hpp"

namespace pydoca::sim {

/// The simulated BlueField: its functions are the topology's; unavailable where that has none.
backend::Backend& create();

}  // namespace pydoca::sim
