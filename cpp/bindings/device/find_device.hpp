/// Which function a user means.
#pragma once

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

/// Throws invalid_value for a name that is none of "dma", "comch_server", "comch_client", "mmap_export_pci",
/// "mmap_create_from_export_pci", "representors", "sync_event", "sync_event_..." and
/// "async_sync_event_wait".
bool supports(const DeviceInfo& info, const std::string& capability);

}  // namespace pydoca::bindings
