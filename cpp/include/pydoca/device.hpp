#pragma once

#include "pydoca/device_properties.hpp"
#include "pydoca/status.hpp"
#include "pydoca/types.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pydoca::backend {
class Backend;
class Device;
}  // namespace pydoca::backend

namespace pydoca {

class Device;
class Representor;

/// A function as an enumeration saw it. It stays valid and unchanged when the function changes or goes
/// (DOCA Core: struct doca_devinfo).
class DeviceInfo {
 public:
  DeviceInfo(backend::Backend& backend, DeviceProperties properties);

  const DeviceProperties& properties() const noexcept { return *properties_; }
  backend::Backend& backend() const noexcept { return *backend_; }
  const Capabilities& capabilities() const noexcept { return properties_->capabilities; }

  const std::string& name() const noexcept { return properties_->name; }
  const std::string& pci_addr() const noexcept { return properties_->pci_addr; }
  /// Accepts "DDDD:BB:DD.F" or "BB:DD.F" (domain 0000); throws invalid_value for any other form.
  bool is_equal_pci_addr(std::string_view address) const;

  // Properties that a function may not have: each throws as its DOCA getter answers.
  std::array<std::uint8_t, 6> mac_addr() const;    ///< not_supported on an InfiniBand port
  std::array<std::uint8_t, 4> ipv4_addr() const;   ///< not_found when none is set
  std::array<std::uint8_t, 16> ipv6_addr() const;  ///< not_found when none is set
  std::uint16_t lid() const;                       ///< not_supported off InfiniBand
  std::uint32_t sf_index() const;                  ///< not_supported unless an SF

 private:
  backend::Backend* backend_;
  std::shared_ptr<const DeviceProperties> properties_;
};

/// A snapshot of every function that this process may see, all backends, limited by the environment's PYDOCA_SIDE
/// ("host" or "dpu") and PYDOCA_BACKEND ("sim" or "verbs"). Throws not_found when there is none, invalid_value for
/// another PYDOCA_SIDE or PYDOCA_BACKEND.
std::vector<DeviceInfo> devices();

/// A backend that has no devices here.
struct UnavailableBackend {
  std::string name;
  std::string reason;  ///< and what to do about it
};
/// Of those that PYDOCA_BACKEND lets this process see. Throws invalid_value for another PYDOCA_BACKEND.
std::vector<UnavailableBackend> unavailable_backends();

class DeviceUse;

/// A local function, opened (struct doca_dev). Opening one twice gives the same object, with a count of two; a forked
/// child gets one of its own, and can only destroy those that it inherited.
class Device : public std::enable_shared_from_this<Device> {
 public:
  /// Throws not_found when it has gone, initialization above max_open_devices.
  static std::shared_ptr<Device> open(const DeviceInfo& info);

  /// Of an application's protection domain (rdma_bridge.hpp); open() does not know it. Throws not_supported where no
  /// backend takes it, initialization above max_open_devices. The device of open() whose domain it is, if
  /// one is open, cannot be closed before this one.
  static std::shared_ptr<Device> adopt(void* protection_domain);

  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  /// Takes one opening back; the last one closes. Throws in_use while memory maps, contexts or representors are on it,
  /// bad_state when it is closed already.
  void close();
  bool is_open() const noexcept { return open_count_.load(std::memory_order_relaxed) > 0; }

  const DeviceInfo& info() const noexcept { return info_; }
  /// Whether the function has been pulled out; a closed device has not.
  bool removed() const noexcept;
  /// This device's index in a memory map's table of regions.
  std::size_t ordinal() const noexcept { return ordinal_; }
  backend::Device& backend() const noexcept { return *backend_; }
  /// Memory maps, contexts and representors on this device.
  std::size_t num_users() const noexcept { return users_.load(std::memory_order_relaxed); }

  /// A snapshot (doca_devinfo_rep_create_list). Throws not_supported on the host and for a filter without capability.
  std::vector<RepresentorProperties> representors(RepFilter filter = RepFilter::all) const;
  /// By the represented function's PCI address (long or short), name or interface, or one that representors() listed.
  /// Throws not_found.
  std::shared_ptr<Representor> open_representor(std::string_view selector);
  std::shared_ptr<Representor> open_representor(const RepresentorProperties& properties);

 private:
  friend class DeviceUse;
  static std::shared_ptr<Device> owner_of(const void* protection_domain);
  Device(DeviceInfo info, std::unique_ptr<backend::Device> device, std::size_t ordinal) noexcept;

  DeviceInfo info_;
  std::unique_ptr<backend::Device> backend_;
  std::size_t ordinal_;
  std::atomic<std::size_t> open_count_{1};
  std::atomic<std::size_t> users_{0};
  std::unique_ptr<DeviceUse> domain_owner_;  ///< of one that was adopted: the device whose domain it is on, if known
};

/// A counted share of a device, held by each object on it. Throws invalid_value for null, bad_state when closed.
class DeviceUse {
 public:
  explicit DeviceUse(std::shared_ptr<Device> device);
  ~DeviceUse();
  DeviceUse(DeviceUse&& other) noexcept = default;
  DeviceUse& operator=(DeviceUse&&) = delete;

  /// Gives the share back early; the device may be looked at still.
  void release() noexcept;

  Device& operator*() const noexcept { return *device_; }
  Device* operator->() const noexcept { return device_.get(); }
  const std::shared_ptr<Device>& shared() const noexcept { return device_; }

 private:
  std::shared_ptr<Device> device_;
  bool released_ = false;
};

/// The one function that selector names: a PCI address (an SF shares its parent's, which then names the parent), a
/// name, an ibdev name or an interface. side narrows the choice. Throws not_found (listing what there is) and
/// invalid_value (ambiguous, listing the candidates).
DeviceInfo find_device(std::string_view selector, std::optional<Side> side = std::nullopt);
/// The first function for which accept is true; throws not_found.
DeviceInfo find_device(const std::function<bool(const DeviceInfo&)>& accept, std::optional<Side> side = std::nullopt);

}  // namespace pydoca
