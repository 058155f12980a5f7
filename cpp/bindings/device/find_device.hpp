/// Which function a user means.
#pragma once

#include <pydoca/capabilities.hpp>
#include <pydoca/device.hpp>

#include <pybind11/pybind11.h>

#include <optional>
#include <string>
#include <vector>

namespace pydoca::bindings {

/// What a user asks open_device() for; each is narrowed by the next.
struct DeviceRequest {
  pybind11::object selector;  ///< text, DeviceInfo, callable(DeviceInfo) or None: the first that fits
  std::optional<Side> side;
  std::optional<std::string> capability;
};

/// What the process may see, in the environment's topology. Throws not_found when there is nothing.
std::vector<DeviceInfo> visible_devices(std::optional<Side> side);

/// Throws not_found, not_supported (it lacks the capability), invalid_value (ambiguous, or no such capability).
DeviceInfo find_requested(const DeviceRequest& request);

/// Throws invalid_value for a name that is not one of capabilities().
Support support_of(const DeviceInfo& info, const std::string& capability);

}  // namespace pydoca::bindings
