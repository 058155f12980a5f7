#pragma once

#include "pydoca/backend.hpp"

#include "backend/sim/device.hpp"

#include <memory>
#include <span>

namespace pydoca::sim {

/// Throw as backend::Device does.
std::unique_ptr<backend::Counter> create_counter(const Device& device, const backend::MemoryRange* memory);
std::unique_ptr<backend::Counter> import_counter(const Device& device, std::span<const std::byte> blob,
                                                 backend::CounterScope scope);

}  // namespace pydoca::sim
