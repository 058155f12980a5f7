#pragma once

#include "pydoca/device.hpp"

#include <span>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)

namespace pydoca {

/// Whether a device can do something, and if not, why.
struct Support {
  bool supported = false;
  std::string reason;  ///< empty when supported

  explicit operator bool() const noexcept { return supported; }
};

/// One of what programs look for in devices, such as "dma" or "comch_server".
struct Capability {
  std::string_view name;
  Support (*of)(const DeviceInfo& info);
};

/// All of them: the one list for C++, Python and the commands.
std::span<const Capability> capabilities() noexcept;

/// Throws invalid_value for a name that is not on the list.
const Capability& find_capability(std::string_view name);

}  // namespace pydoca

#pragma GCC visibility pop
