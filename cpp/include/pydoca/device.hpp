#pragma once

#include "pydoca/status.hpp"
#include "pydoca/trace.hpp"
#include "pydoca/types.hpp"

#include <array>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace pydoca::backend {
class Backend;
class Device;
}  // namespace pydoca::backend

#pragma GCC visibility push(default)

namespace pydoca {

class Device;
class DeviceInfo;
class Representor;
struct Capabilities;           // device_properties.hpp
struct DeviceProperties;       // device_properties.hpp
struct RepresentorProperties;  // device_properties.hpp

/// A function as an enumeration saw it (DOCA Core Programming Guide, devices: struct doca_devinfo). It stays valid and
/// unchanged when the function changes or goes. Copies share the properties, so a copy costs one reference count.
/// Immutable: any number of threads may read one.
class DeviceInfo {
 public:
  /// The constructor is for backends, which live as long as the process, and for tests.
  DeviceInfo(backend::Backend& backend, DeviceProperties properties);
  /// properties: not null, and never changed.
  DeviceInfo(backend::Backend& backend, std::shared_ptr<const DeviceProperties> properties) noexcept
      : backend_(&backend), properties_(std::move(properties)) {}

  const DeviceProperties& properties() const noexcept {
    return *properties_;
  }  ///< device_properties.hpp has the struct
  backend::Backend& backend() const noexcept { return *backend_; }
  const Capabilities& capabilities() const noexcept;

  /// Unique within a backend and a side: "p0", "pf0vf1", "rxe0".
  const std::string& name() const noexcept;
  /// "0000:03:00.0"; empty for a device in software.
  const std::string& pci_addr() const noexcept;
  /// Whether address is this function's. Takes "DDDD:BB:DD.F" and "BB:DD.F" (domain 0000), in upper or lower case.
  /// Throws invalid_value for another form.
  bool is_equal_pci_addr(std::string_view address) const;

  // Properties that a function may lack; each then throws the status that its DOCA getter answers. Addresses are in
  // network byte order.
  std::array<std::uint8_t, 6> mac_addr() const;    ///< throws not_supported on an InfiniBand port
  std::array<std::uint8_t, 4> ipv4_addr() const;   ///< throws not_found when none is set
  std::array<std::uint8_t, 16> ipv6_addr() const;  ///< throws not_found when none is set
  std::uint16_t lid() const;                       ///< throws not_supported except on an InfiniBand port
  std::uint32_t sf_index() const;                  ///< throws not_supported except for an SF

 private:
  backend::Backend* backend_;
  std::shared_ptr<const DeviceProperties> properties_;
};

/// A snapshot of every function that this process may see, of all backends (doca_devinfo_create_list). The environment
/// limits it: PYDOCA_SIDE ("host" or "dpu") and PYDOCA_BACKEND ("sim" or "verbs"), read at each call. Throws not_found,
/// with the reasons of absent backends, when there is none, and invalid_value for another value of these variables. Any
/// thread may call it.
std::vector<DeviceInfo> devices();

/// The functions that this process has open, without those made of an application's protection domain. Any thread may
/// call it.
std::vector<DeviceInfo> open_devices();

/// A backend that has no devices here.
struct UnavailableBackend {
  std::string name;
  std::string reason;  ///< why there is none, and what to do about it
};
/// The backends without devices that PYDOCA_BACKEND lets this process see; empty when all of them have devices. Throws
/// invalid_value for another PYDOCA_BACKEND. Any thread may call it.
std::vector<UnavailableBackend> unavailable_backends();

/// What keeps a device from being closed.
enum class DeviceUser : std::uint8_t { memory_map, context, sync_event, representor, clock, dpa, protection_domain };

/// A local function, opened (DOCA Core Programming Guide, devices: struct doca_dev). open() of a function that is open
/// gives the same object and counts; close() takes one opening back. The object outlives its closing for as long as
/// someone holds it.
///
/// Thread safety: every function may be called from any thread, but not close() while another thread uses backend().
/// A forked child opens devices of its own, and can only destroy those that it inherited.
class Device : public std::enable_shared_from_this<Device> {
 public:
  /// Opens the function, or counts one more opening of it. Throws not_found when the function has gone, initialization
  /// when max_open_devices are open, and what the system answers, such as not_permitted without access to
  /// /dev/infiniband.
  static std::shared_ptr<Device> open(const DeviceInfo& info);

  /// A device on an application's protection domain (rdma_bridge.hpp): not null, and the caller's until the device is
  /// closed. open() never returns this device. If the domain is that of a device which open() made, that one cannot be
  /// closed before this one. Throws not_supported where no backend takes domains, initialization when max_open_devices
  /// are open.
  static std::shared_ptr<Device> adopt(void* protection_domain);

  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  /// Takes one opening back; the last one closes the function. Throws in_use when it is the last and num_users() is not
  /// 0, bad_state when it is closed already.
  void close();
  bool is_open() const noexcept { return open_count_.load(std::memory_order_relaxed) > 0; }

  const DeviceInfo& info() const noexcept { return info_; }
  /// Whether the function has been pulled out: operations fail with driver from then on. False once closed.
  bool removed() const noexcept;
  /// Whether open() of this function gives another device by now: another topology was loaded, or the function was
  /// removed and restored, or a fault plan that concerns it came into force or was removed.
  bool replaced() const noexcept;
  /// The number of this device among the open ones, below max_open_devices: the index of its regions in a memory map.
  /// Another device may get it once this one is closed.
  std::size_t ordinal() const noexcept { return ordinal_; }
  /// For the engine's libraries, while the device is open: undefined behaviour afterwards.
  backend::Device& backend() const noexcept { return *backend_; }
  /// Its name in the present trace recording; for the engine's libraries.
  std::uint32_t trace_name() const noexcept {
    return trace_label_.index([this] { return add_trace_name(); });
  }
  /// Memory maps, contexts, sync events and whatever else of DeviceUser is on this device.
  std::size_t num_users() const noexcept;

  /// Keeps costly resources for a quick restart of what uses them (doca_dev_accelerate_resource_reclaim). Throws
  /// bad_state when closed, not_supported without the capability accelerate_resource_reclaim, driver when the device
  /// was removed.
  void accelerate_resource_reclaim() const;

  /// A snapshot of the representors that pass the filter (doca_devinfo_rep_create_list). Throws bad_state when closed,
  /// not_supported for a device without representors (only a physical function of the DPU has them) and for a filter
  /// without capability, invalid_value for a number that is not a filter, driver when the device was removed.
  std::vector<RepresentorProperties> representors(RepFilter filter = RepFilter::all) const;
  /// Opens the representor that selector names: its name or interface, or the represented function's PCI address, long
  /// or short. The representor uses the device until it is closed or destroyed. Throws not_found, listing those that
  /// there are, invalid_value when several have the address, and what representors() throws.
  std::shared_ptr<Representor> open_representor(std::string_view selector);
  /// Opens one that representors() listed. Throws not_found when it is not, or no longer, in the list.
  std::shared_ptr<Representor> open_representor(const RepresentorProperties& properties);

  class Use;

 private:
  /// The device of info that is open, or a new one.
  static std::shared_ptr<Device> share(const DeviceInfo& info);
  /// Ends one opening; returns whether it was the last.
  bool give_back();
  /// Throws bad_state when it is closed.
  void require_open(std::string_view what) const;
  static std::shared_ptr<Device> owner_of(const void* protection_domain);
  Device(DeviceInfo info, std::unique_ptr<backend::Device> device, std::size_t ordinal) noexcept;
  std::uint32_t add_trace_name() const noexcept;
  /// Such as "2 memory maps and 1 context".
  std::string describe_users() const;

  DeviceInfo info_;
  std::unique_ptr<backend::Device> backend_;
  std::size_t ordinal_;
  std::uint64_t fault_plan_;  ///< the one whose faults it has; 0: none
  std::atomic<std::size_t> open_count_{1};
  std::array<std::atomic<std::size_t>, 7> users_{};  ///< one count per DeviceUser
  TraceLabel trace_label_;
  std::unique_ptr<Use> domain_owner_;  ///< where the device was adopted: the device whose domain it is on, if known
};

/// A counted share of a device, held by each object on it: while there is one, the device cannot be closed. Belongs to
/// one thread at a time.
class Device::Use {
 public:
  /// Throws invalid_value for null, bad_state when the device is closed.
  Use(std::shared_ptr<Device> device, DeviceUser user);
  ~Use();
  Use(Use&& other) noexcept = default;
  Use& operator=(Use&&) = delete;

  /// Gives the share back before the destructor; idempotent. The device may be looked at still.
  void release() noexcept;

  Device& operator*() const noexcept { return *device_; }
  Device* operator->() const noexcept { return device_.get(); }
  const std::shared_ptr<Device>& shared() const noexcept { return device_; }

 private:
  std::shared_ptr<Device> device_;
  DeviceUser user_;
  bool released_ = false;
};
using DeviceUse = Device::Use;

/// The one function of devices() that selector names: by its PCI address, long or short, its name, its ibdev name or
/// its interface. An SF shares the address of its parent; the address then names the parent, if this process sees it.
/// side narrows the choice. Throws not_found, listing what there is, invalid_value when several fit, listing them, and
/// what devices() throws.
DeviceInfo find_device(std::string_view selector, std::optional<Side> side = std::nullopt);
namespace detail {
/// The first function of devices() for which accepts(by, function) is true.
DeviceInfo find_device_if(bool (*accepts)(const void* by, const DeviceInfo& info), const void* by,
                          std::optional<Side> side);
}  // namespace detail
/// The first function of devices() for which accept is true. Throws not_found when there is none, and what devices()
/// and accept throw.
template <std::predicate<const DeviceInfo&> Accept>
DeviceInfo find_device(const Accept& accept, std::optional<Side> side = std::nullopt) {
  return detail::find_device_if(
      [](const void* by, const DeviceInfo& info) -> bool { return (*static_cast<const Accept*>(by))(info); }, &accept,
      side);
}

}  // namespace pydoca

#pragma GCC visibility pop
