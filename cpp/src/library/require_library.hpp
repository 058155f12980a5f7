#pragma once

#include "pydoca/device.hpp"
#include "pydoca/device_properties.hpp"

#include <optional>
#include <string_view>

namespace pydoca::detail {

/// Throws not_supported: the device lacks the library of that capability. lack: how it does, such as "has no SHA
/// engine"; the device's reason follows.
[[noreturn]] void refuse_library(const DeviceInfo& info, std::string_view capability, std::string_view lack);

/// What the device has of that library. Throws what refuse_library() does.
template <class Capabilities>
const Capabilities& require_library(const DeviceInfo& info, const std::optional<Capabilities>& has,
                                    std::string_view capability, std::string_view lack) {
  if (!has) {
    refuse_library(info, capability, lack);
  }
  return *has;
}

}  // namespace pydoca::detail
