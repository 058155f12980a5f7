#pragma once

#include "pydoca/device.hpp"
#include "pydoca/device_properties.hpp"

#include <atomic>
#include <memory>
#include <optional>
#include <string_view>

#pragma GCC visibility push(default)

namespace pydoca {

/// The DPU-side stand-in of a function, opened (struct doca_dev_rep). It keeps its device in use until it is closed.
/// add_user() and remove_user() may be called from any thread, the others from one at a time.
class Representor {
 public:
  Representor(std::shared_ptr<Device> device, RepresentorProperties properties);

  /// Throws in_use while a server is on it, bad_state when closed already.
  void close();
  bool is_open() const noexcept { return device_.has_value(); }
  /// The device that listed it; throws bad_state when closed.
  const std::shared_ptr<Device>& device() const;
  const RepresentorProperties& properties() const noexcept { return properties_; }
  /// Accepts the long and the short form; throws invalid_value for any other.
  bool is_equal_pci_addr(std::string_view address) const;

  /// A server on it counts as a user.
  void add_user() noexcept { ++users_; }
  void remove_user() noexcept { --users_; }

 private:
  std::optional<DeviceUse> device_;
  RepresentorProperties properties_;
  std::atomic<std::size_t> users_{0};
};

}  // namespace pydoca

#pragma GCC visibility pop
