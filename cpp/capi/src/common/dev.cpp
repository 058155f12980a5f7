#include "common/dev.hpp"

#include "pydoca/types.hpp"

#include "base/call.hpp"
#include "base/convert.hpp"
#include "base/lists.hpp"
#include "base/side.hpp"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

using namespace pydoca;
using capi::Call;

namespace {

/// The open devices: one object for each, however often it was opened.
struct OpenDevices {
  std::mutex mutex;
  std::vector<doca_dev*> all;
};

OpenDevices& open_devices_of_c() {
  static auto* const devices = new OpenDevices;
  return *devices;
}

capi::Lists<doca_devinfo>& lists() {
  static auto* const lists = new capi::Lists<doca_devinfo>;
  return *lists;
}

/// The object of a device that was just opened.
doca_dev* share(std::vector<doca_dev*>& all, const std::shared_ptr<Device>& device) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const doca_dev* dev) { return dev->device == device; });
  if (found != all.end()) {
    return *found;
  }
  all.reserve(all.size() + 1);
  doca_devinfo* const info = capi::Slab<doca_devinfo>::make();
  info->info = device->info();
  doca_dev* dev = nullptr;
  try {
    dev = capi::Slab<doca_dev>::make();
  } catch (...) {
    capi::Slab<doca_devinfo>::end(*info);
    throw;
  }
  dev->device = device;
  dev->info = info;
  all.push_back(dev);
  return dev;
}

void close(doca_dev& dev) {
  OpenDevices& devices = open_devices_of_c();
  const std::lock_guard lock(devices.mutex);
  dev.device->close();
  if (--dev.openings == 0) {
    std::erase(devices.all, &dev);
    capi::Slab<doca_devinfo>::end(*dev.info);
    capi::Slab<doca_dev>::end(dev);
  }
}

/// Only the simulator has devices of both sides. Other ones are in this machine, and so on the program's side.
bool is_of_other_side(const DeviceInfo& info) noexcept {
  const DeviceProperties& properties = info.properties();
  return properties.backend == "sim" && properties.side != capi::side();
}

std::vector<DeviceInfo> devices_of_this_side() {
  capi::require_side();
  std::vector<DeviceInfo> all = devices();
  std::erase_if(all, is_of_other_side);
  if (all.empty()) {
    throw Error(Status::not_found, "there is no device on this program's side of the PCIe link");
  }
  return all;
}

/// Answers a getter of a number, or of another plain value.
template <class Value, class Read>
doca_error_t get(const Call& call, const doca_devinfo* devinfo, Value* value, Read read) noexcept {
  if (!call.has(devinfo, value)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.ask([&] { *value = static_cast<Value>(read(*devinfo->info)); });
}

/// Answers a getter of an address as bytes.
template <class Read>
doca_error_t get_bytes(const Call& call, const doca_devinfo* devinfo, std::uint8_t* out, std::uint32_t size,
                       Read read) noexcept {
  if (!call.has(devinfo, out)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.ask([&] {
    capi::require_room(size, sizeof(decltype(read(*devinfo->info))));
    capi::copy_bytes(read(*devinfo->info), out);
  });
}

/// Answers a getter of a text, for which DOCA asks `needed` bytes of room.
template <class Object>
doca_error_t get_text(const Call& call, const Object* object, char* out, std::size_t size, std::size_t needed,
                      const std::string& (*read)(const Object&)) noexcept {
  if (!call.has(object, out)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.ask([&] {
    capi::require_room(size, needed);
    capi::copy_text(read(*object), out, size);
  });
}

}  // namespace

doca_dev* capi::open_dev(const std::function<std::shared_ptr<Device>()>& open) {
  OpenDevices& devices = open_devices_of_c();
  const std::lock_guard lock(devices.mutex);
  const std::shared_ptr<Device> device = open();
  try {
    doca_dev* const dev = share(devices.all, device);
    ++dev->openings;
    return dev;
  } catch (...) {
    device->close();
    throw;
  }
}

doca_error_t doca_devinfo_create_list(doca_devinfo*** dev_list, std::uint32_t* nb_devs) {
  const Call call;
  if (!call.has(dev_list, nb_devs)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.run([&] {
    const std::vector<DeviceInfo> found = devices_of_this_side();
    *dev_list = lists().add(found, [](doca_devinfo& element, const DeviceInfo& info) { element.info = info; });
    *nb_devs = static_cast<std::uint32_t>(found.size());
  });
}

doca_error_t doca_devinfo_destroy_list(doca_devinfo** dev_list) {
  const Call call;
  if (!call.has(dev_list)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.run([&] { lists().remove(dev_list); });
}

doca_error_t doca_dev_open(doca_devinfo* devinfo, doca_dev** dev) {
  const Call call;
  if (!call.has(devinfo, dev)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.run([&] { *dev = capi::open_dev([&] { return Device::open(*devinfo->info); }); });
}

doca_error_t doca_dev_close(doca_dev* dev) {
  const Call call;
  if (!call.has(dev)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.run([&] { close(*dev); });
}

doca_error_t doca_dev_accelerate_resource_reclaim(const doca_dev* dev) {
  const Call call;
  if (!call.has(dev)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.run([&] { dev->device->accelerate_resource_reclaim(); });
}

doca_devinfo* doca_dev_as_devinfo(const doca_dev* dev) {
  const Call call;
  return call.has(dev) ? dev->info : nullptr;
}

doca_error_t doca_devinfo_get_pci_addr_str(const doca_devinfo* devinfo, char* pci_addr_str) {
  return get_text<doca_devinfo>(Call(), devinfo, pci_addr_str, DOCA_DEVINFO_PCI_ADDR_SIZE, 0,
                                [](const doca_devinfo& of) -> const std::string& { return of.info->pci_addr(); });
}

doca_error_t doca_devinfo_is_equal_pci_addr(const doca_devinfo* devinfo, const char* pci_addr_str,
                                            std::uint8_t* is_equal) {
  const Call call;
  if (!call.has(devinfo, pci_addr_str, is_equal)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.run([&] { *is_equal = devinfo->info->is_equal_pci_addr(pci_addr_str) ? 1 : 0; });
}

doca_error_t doca_devinfo_get_ipv4_addr(const doca_devinfo* devinfo, std::uint8_t* ipv4_addr, std::uint32_t size) {
  return get_bytes(Call(), devinfo, ipv4_addr, size, [](const DeviceInfo& info) { return info.ipv4_addr(); });
}

doca_error_t doca_devinfo_get_ipv6_addr(const doca_devinfo* devinfo, std::uint8_t* ipv6_addr, std::uint32_t size) {
  return get_bytes(Call(), devinfo, ipv6_addr, size, [](const DeviceInfo& info) { return info.ipv6_addr(); });
}

doca_error_t doca_devinfo_get_mac_addr(const doca_devinfo* devinfo, std::uint8_t* mac_addr, std::uint32_t size) {
  return get_bytes(Call(), devinfo, mac_addr, size, [](const DeviceInfo& info) { return info.mac_addr(); });
}

doca_error_t doca_devinfo_get_iface_name(const doca_devinfo* devinfo, char* iface_name, std::uint32_t size) {
  return get_text<doca_devinfo>(
      Call(), devinfo, iface_name, size, DOCA_DEVINFO_IFACE_NAME_SIZE,
      [](const doca_devinfo& of) -> const std::string& { return of.info->properties().iface_name; });
}

doca_error_t doca_devinfo_get_ibdev_name(const doca_devinfo* devinfo, char* ibdev_name, std::uint32_t size) {
  return get_text<doca_devinfo>(
      Call(), devinfo, ibdev_name, size, DOCA_DEVINFO_IBDEV_NAME_SIZE,
      [](const doca_devinfo& of) -> const std::string& { return of.info->properties().ibdev_name; });
}

doca_error_t doca_devinfo_get_lid(const doca_devinfo* devinfo, std::uint16_t* lid) {
  return get(Call(), devinfo, lid, [](const DeviceInfo& info) { return info.lid(); });
}

doca_error_t doca_devinfo_get_active_rate(const doca_devinfo* devinfo, std::uint64_t* active_rate) {
  return get(Call(), devinfo, active_rate, [](const DeviceInfo& info) { return info.properties().active_rate; });
}

doca_error_t doca_devinfo_get_vhca_id(const doca_devinfo* devinfo, std::uint16_t* vhca_id) {
  return get(Call(), devinfo, vhca_id, [](const DeviceInfo& info) { return info.properties().vhca_id; });
}

doca_error_t doca_devinfo_get_pci_func_type(const doca_devinfo* devinfo, doca_pci_func_type* pci_func_type) {
  return get(Call(), devinfo, pci_func_type, [](const DeviceInfo& info) { return info.properties().func_type; });
}

doca_error_t doca_devinfo_get_sf_index(const doca_devinfo* devinfo, std::uint32_t* sf_index) {
  return get(Call(), devinfo, sf_index, [](const DeviceInfo& info) { return info.sf_index(); });
}

doca_error_t doca_devinfo_cap_is_hotplug_manager_supported(const doca_devinfo* devinfo, std::uint8_t* is_supported) {
  return get(Call(), devinfo, is_supported, [](const DeviceInfo& info) { return info.capabilities().hotplug_manager; });
}

doca_error_t doca_devinfo_cap_is_notification_moderation_supported(const doca_devinfo* devinfo,
                                                                   std::uint8_t* is_supported) {
  return get(Call(), devinfo, is_supported,
             [](const DeviceInfo& info) { return info.capabilities().notification_moderation; });
}

doca_error_t doca_devinfo_cap_is_accelerate_resource_reclaim_supported(const doca_devinfo* devinfo,
                                                                       std::uint8_t* is_supported) {
  return get(Call(), devinfo, is_supported,
             [](const DeviceInfo& info) { return info.capabilities().accelerate_resource_reclaim; });
}

doca_error_t doca_devinfo_rep_cap_is_filter_all_supported(const doca_devinfo* devinfo, std::uint8_t* is_supported) {
  return get(Call(), devinfo, is_supported, [](const DeviceInfo& info) { return info.capabilities().rep_filter_all; });
}

doca_error_t doca_devinfo_rep_cap_is_filter_net_supported(const doca_devinfo* devinfo, std::uint8_t* is_supported) {
  return get(Call(), devinfo, is_supported, [](const DeviceInfo& info) { return info.capabilities().rep_filter_net; });
}

doca_error_t doca_devinfo_rep_cap_is_filter_emulated_supported(const doca_devinfo* devinfo,
                                                               std::uint8_t* is_supported) {
  return get(Call(), devinfo, is_supported,
             [](const DeviceInfo& info) { return info.capabilities().rep_filter_emulated; });
}
