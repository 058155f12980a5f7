#include "backend/verbs/adapter/adapter.hpp"

#include "pydoca/device_properties.hpp"
#include "pydoca/log.hpp"

#include "backend/verbs/adapter/device_list.hpp"
#include "backend/verbs/adapter/sysfs.hpp"
#include "backend/verbs/library/failure.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace pydoca::verbs {

namespace {

OwnedContext open_context(const std::string& name) {
  const DeviceList list;
  ibv_device* const device = list.find(name);
  if (device == nullptr) {
    throw Error(Status::not_found, detail::concat("open ", name, ": the device has gone"));
  }
  errno = 0;
  OwnedContext context(library().open_device(device));
  if (context == nullptr) {
    fail(errno != 0 ? errno : ENODEV, "open ", name);
  }
  return context;
}

}  // namespace

Adapter::Adapter(const std::string& name) : Adapter(name, open_context(name)) {}

Adapter::Adapter(ibv_context& borrowed)
    : Adapter(static_cast<const char*>(borrowed.device->name), OwnedContext(&borrowed, {.borrowed = true})) {}

Adapter::Adapter(const std::string& name, OwnedContext context) : name_(name), context_(std::move(context)) {
  int error = library().query_device(context_.get(), &attributes_);
  error = error == 0 ? library().query_port(context_.get(), the_port, &port_) : error;
  if (error != 0) {
    fail(error, "open ", name);
  }
  iface_name_ = Sysfs(static_cast<const char*>(context_->device->ibdev_path), the_port).iface_name();
}

Gid Adapter::gid(unsigned index) const {
  ibv_gid gid{};
  if (std::cmp_greater_equal(index, port_.gid_tbl_len) ||
      library().query_gid(context(), the_port, static_cast<int>(index), &gid) != 0) {
    return {};
  }
  return std::to_array(gid.raw);
}

/// The higher the better; 0: there is none.
int Adapter::gid_rank(unsigned index) const {
  constexpr Gid mapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  const Gid found = gid(index);
  if (found == Gid{}) {
    return 0;
  }
  const bool is_ipv4 = std::equal(found.begin(), found.begin() + 12, mapped.begin());
  const bool is_v2 = Sysfs(context_->device->ibdev_path, the_port).is_roce_v2(index);
  return 1 + (is_v2 ? 2 : 0) + (is_ipv4 ? 1 : 0);
}

unsigned Adapter::best_gid_index() const {
  constexpr unsigned enough = 64;  // tables are long, and filled from index 0
  unsigned best = 0;
  int best_rank = 0;
  for (unsigned index = 0; index < std::min(enough, static_cast<unsigned>(port_.gid_tbl_len)); ++index) {
    if (const int rank = gid_rank(index); rank > best_rank) {
      best = index;
      best_rank = rank;
    }
  }
  return best;
}

std::uint64_t Adapter::counter_frequency() const noexcept {
  // The context's table is used: the header's inline function links to the library for drivers without this one.
  verbs_context* const extended = verbs_get_ctx_op(context(), query_device_ex);
  ibv_device_attr_ex attributes{};
  if (extended == nullptr || extended->query_device_ex(context(), nullptr, &attributes, sizeof attributes) != 0) {
    return 0;
  }
  return attributes.hca_core_clock * 1000;  // it is in kHz
}

int Adapter::read_counter(std::uint64_t& cycles) const noexcept {
  ibv_values_ex values{};
  values.comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
  const int error = ibv_query_rt_values_ex(context(), &values);
  if (error == 0 && (values.comp_mask & IBV_VALUES_MASK_RAW_CLOCK) == 0) {
    return EOPNOTSUPP;
  }
  // Drivers put the counter into the nanoseconds, and leave the seconds 0.
  cycles = static_cast<std::uint64_t>(values.raw_clock.tv_nsec);
  return error;
}

DeviceProperties properties_of(const ibv_device& device) {
  const Sysfs sysfs(static_cast<const char*>(device.ibdev_path), the_port);
  DeviceProperties properties;
  properties.backend = "verbs";
  properties.name = properties.ibdev_name = static_cast<const char*>(device.name);
  properties.pci_addr = sysfs.pci_addr();
  properties.func_type = sysfs.func_type();
  properties.sf_index = sysfs.sf_index();
  properties.iface_name = sysfs.iface_name();
  properties.active_rate = sysfs.rate();
  properties.profile = sysfs.model();
  const IpAddresses addresses = ip_addresses_of(properties.iface_name);
  properties.ipv4_addr = addresses.ipv4;
  properties.ipv6_addr = addresses.ipv6;
  try {
    const Adapter adapter(properties.name);
    properties.vuid = detail::concat(detail::hex(be64toh(adapter.attributes().node_guid)));
    if (adapter.is_ethernet()) {
      properties.mac_addr = mac_addr_of(properties.iface_name);
    } else {
      properties.lid = adapter.port().lid;
    }
    properties.capabilities = capabilities_of(adapter);
  } catch (const Error& error) {
    log::engine(log::Level::warning, "verbs", error.what());
  }
  return properties;
}

}  // namespace pydoca::verbs
