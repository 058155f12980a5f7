/// Finds the function that a user selects.
#pragma once

#include <pydoca/capabilities.hpp>
#include <pydoca/device.hpp>

#include "convert/pybind.hpp"

#include <optional>
#include <string>
#include <vector>

namespace pydoca::bindings {

/// The arguments of open_device(). Each one limits the choice further.
struct DeviceRequest {
  py::object selector;  ///< text, DeviceInfo, callable(DeviceInfo) or None, which means the first function that fits
  std::optional<Side> side;
  std::optional<std::string> capability;
};

/// The functions that the process may see, in the environment's topology. Throws not_found when there is none.
std::vector<DeviceInfo> visible_devices(std::optional<Side> side);

/// Throws not_found, not_supported (it lacks the capability), invalid_value (ambiguous, or no such capability).
DeviceInfo find_requested(const DeviceRequest& request);

/// Throws invalid_value for a name that is not one of capabilities().
Support support_of(const DeviceInfo& info, const std::string& capability);

}  // namespace pydoca::bindings
