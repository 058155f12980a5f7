#pragma once

#include "pydoca/backend/device.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace pydoca::sim {

/// Has every process of a fabric record, this one excepted. Throws as listening in its directory does.
std::unique_ptr<backend::Recordings> record_fabric(const std::string& fabric, std::uint32_t capacity);

}  // namespace pydoca::sim
