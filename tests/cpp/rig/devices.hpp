#pragma once

#include "pydoca/device.hpp"

#include <memory>

namespace pydoca {

/// The first port of the default card, on the DPU.
inline std::shared_ptr<Device> dpu() { return Device::open(find_device("p0", Side::dpu)); }
/// Its first function on the host.
inline std::shared_ptr<Device> host() { return Device::open(find_device("pf0", Side::host)); }

}  // namespace pydoca
