#pragma once

#include "pydoca/backend.hpp"

#include "backend/sim/device.hpp"

#include <span>

namespace pydoca::sim {

/// Asks the blob's owner for the memory it describes. Throws as backend::Device::import_pci does; time_out when the
/// owner does not answer, again when a signal ended the wait for it.
backend::ImportedRegion import_region(const Device& device, std::span<const std::byte> blob);

}  // namespace pydoca::sim
