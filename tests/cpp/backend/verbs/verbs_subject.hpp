#pragma once

#include <pydoca/device.hpp>
#include <pydoca/device_properties.hpp>

#include "backend/verbs/backend.hpp"

#include <cstdlib>
#include <string>

namespace pydoca::verbs {

/// The device under test: the one that PYDOCA_TEST_DEVICE names, or the first.
inline std::string chosen_device() {
  const char* const name = std::getenv("PYDOCA_TEST_DEVICE");
  return name != nullptr ? name : "";
}

inline std::string why_absent() { return create().unavailable(); }

inline DeviceInfo find_subject() {
  std::vector<DeviceProperties> found = create().enumerate();
  const std::string name = chosen_device();
  std::erase_if(found, [&](const auto& properties) { return !name.empty() && properties.name != name; });
  return DeviceInfo(create(), found.at(0));
}

}  // namespace pydoca::verbs
