#include "pydoca/types.hpp"

#include "base/call.hpp"
#include "base/convert.hpp"
#include "base/lists.hpp"
#include "common/dev.hpp"

#include <string>
#include <vector>

using namespace pydoca;
using capi::Call;

namespace {

capi::Lists<doca_devinfo_rep>& lists() {
  static auto* const lists = new capi::Lists<doca_devinfo_rep>;
  return *lists;
}

/// Throws invalid_value for a bit that is not a filter.
RepFilter filter_of(int bits) {
  constexpr int known = DOCA_DEVINFO_REP_FILTER_NET | DOCA_DEVINFO_REP_FILTER_EMULATED;
  if ((bits & ~known) != 0) {
    throw Error(Status::invalid_value, "filter is " + std::to_string(bits) + ", which has a bit of no filter");
  }
  return static_cast<RepFilter>(bits);
}

doca_dev_rep* open(const doca_devinfo_rep& of) {
  auto representor = of.device->open_representor(of.properties);
  doca_devinfo_rep* const info = capi::Slab<doca_devinfo_rep>::make();
  info->device = of.device;
  info->properties = of.properties;
  try {
    doca_dev_rep* const dev_rep = capi::Slab<doca_dev_rep>::make();
    dev_rep->representor = std::move(representor);
    dev_rep->info = info;
    return dev_rep;
  } catch (...) {
    capi::Slab<doca_devinfo_rep>::end(*info);
    throw;
  }
}

/// Answers a getter of a number, or of another plain value.
template <class Value, class Field>
doca_error_t get(const Call& call, const doca_devinfo_rep* devinfo_rep, Value* value,
                 Field RepresentorProperties::* field) noexcept {
  if (!call.has(devinfo_rep, value)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  *value = static_cast<Value>(devinfo_rep->properties.*field);
  return DOCA_SUCCESS;
}

doca_error_t get_text(const Call& call, const doca_devinfo_rep* devinfo_rep, char* out, std::size_t size,
                      std::size_t needed, std::string RepresentorProperties::* field) noexcept {
  if (!call.has(devinfo_rep, out)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.run([&] {
    capi::require_room(size, needed);
    capi::copy_text(devinfo_rep->properties.*field, out, size);
  });
}

}  // namespace

doca_error_t doca_devinfo_rep_create_list(doca_dev* dev, int filter, doca_devinfo_rep*** dev_list_rep,
                                          std::uint32_t* nb_devs_rep) {
  const Call call;
  if (!call.has(dev, dev_list_rep, nb_devs_rep)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.run([&] {
    const std::vector<RepresentorProperties> found = dev->device->representors(filter_of(filter));
    *dev_list_rep = lists().add(found, [dev](doca_devinfo_rep& element, const RepresentorProperties& properties) {
      element.device = dev->device;
      element.properties = properties;
    });
    *nb_devs_rep = static_cast<std::uint32_t>(found.size());
  });
}

doca_error_t doca_devinfo_rep_destroy_list(doca_devinfo_rep** dev_list_rep) {
  const Call call;
  if (!call.has(dev_list_rep)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.run([&] { lists().remove(dev_list_rep); });
}

doca_error_t doca_dev_rep_open(doca_devinfo_rep* devinfo, doca_dev_rep** dev_rep) {
  const Call call;
  if (!call.has(devinfo, dev_rep)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.run([&] { *dev_rep = open(*devinfo); });
}

doca_error_t doca_dev_rep_close(doca_dev_rep* dev) {
  const Call call;
  if (!call.has(dev)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.run([&] {
    dev->representor->close();
    capi::Slab<doca_devinfo_rep>::end(*dev->info);
    capi::Slab<doca_dev_rep>::end(*dev);
  });
}

doca_devinfo_rep* doca_dev_rep_as_devinfo(const doca_dev_rep* dev_rep) {
  const Call call;
  return call.has(dev_rep) ? dev_rep->info : nullptr;
}

doca_error_t doca_devinfo_rep_get_vuid(const doca_devinfo_rep* devinfo_rep, char* rep_vuid, std::uint32_t size) {
  return get_text(Call(), devinfo_rep, rep_vuid, size, DOCA_DEVINFO_REP_VUID_SIZE, &RepresentorProperties::vuid);
}

doca_error_t doca_devinfo_rep_get_pci_addr_str(const doca_devinfo_rep* devinfo_rep, char* pci_addr_str) {
  return get_text(Call(), devinfo_rep, pci_addr_str, DOCA_DEVINFO_REP_PCI_ADDR_SIZE, 0,
                  &RepresentorProperties::pci_addr);
}

doca_error_t doca_devinfo_rep_is_equal_pci_addr(const doca_devinfo_rep* devinfo_rep, const char* pci_addr_str,
                                                std::uint8_t* is_equal) {
  const Call call;
  if (!call.has(devinfo_rep, pci_addr_str, is_equal)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.run([&] { *is_equal = canonical_pci_addr(pci_addr_str) == devinfo_rep->properties.pci_addr ? 1 : 0; });
}

doca_error_t doca_devinfo_rep_get_pci_func_type(const doca_devinfo_rep* devinfo_rep,
                                                doca_pci_func_type* pci_func_type) {
  return get(Call(), devinfo_rep, pci_func_type, &RepresentorProperties::func_type);
}

doca_error_t doca_devinfo_rep_get_is_hotplug(const doca_devinfo_rep* devinfo_rep, std::uint8_t* is_hotplug) {
  return get(Call(), devinfo_rep, is_hotplug, &RepresentorProperties::is_hotplug);
}

doca_error_t doca_devinfo_rep_get_iface_name(const doca_devinfo_rep* devinfo_rep, char* iface_name,
                                             std::uint32_t size) {
  return get_text(Call(), devinfo_rep, iface_name, size, DOCA_DEVINFO_IFACE_NAME_SIZE,
                  &RepresentorProperties::iface_name);
}

doca_error_t doca_devinfo_rep_get_vhca_id(const doca_devinfo_rep* devinfo_rep, std::uint16_t* vhca_id) {
  return get(Call(), devinfo_rep, vhca_id, &RepresentorProperties::vhca_id);
}
