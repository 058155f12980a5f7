#pragma once

#include "pydoca/backend/device.hpp"
#include "pydoca/device_properties.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

/// The faults of the plan that is in force, if one is.
namespace pydoca::faulty {

/// The device, or a faulty one around it.
std::unique_ptr<backend::Device> wrap(std::unique_ptr<backend::Device> device, const DeviceProperties& properties,
                                      std::size_t ordinal);
void misreport(std::vector<backend::SharedProperties>& devices);
std::uint64_t installation_for(const DeviceProperties& properties) noexcept;

}  // namespace pydoca::faulty
