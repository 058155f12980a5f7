#pragma once

#include "pydoca/backend/device.hpp"

namespace pydoca::verbs {

/// The RDMA devices of this machine, through rdma-core; unavailable where that, or a device, is not there.
backend::Backend& create();

}  // namespace pydoca::verbs
