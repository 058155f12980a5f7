#pragma once

#include "pydoca/device_properties.hpp"
#include "pydoca/types.hpp"

#include "backend/verbs/library/owned.hpp"

#include <cstdint>
#include <string>

namespace pydoca::verbs {

/// The port that is used, of devices with several.
inline constexpr std::uint8_t the_port = 1;

/// An opened RDMA device. Throws not_found, and as the library fails.
class Adapter {
 public:
  explicit Adapter(const std::string& name);
  /// The application's, which outlives it.
  explicit Adapter(ibv_context& borrowed);

  ibv_context* context() const noexcept { return context_.get(); }
  const std::string& name() const noexcept { return name_; }
  const std::string& iface_name() const noexcept { return iface_name_; }
  const ibv_device_attr& attributes() const noexcept { return attributes_; }
  const ibv_port_attr& port() const noexcept { return port_; }
  bool is_ethernet() const noexcept { return port_.link_layer == IBV_LINK_LAYER_ETHERNET; }
  Gid gid(unsigned index) const;
  /// The one that reaches most peers: RoCE v2 with an IPv4 address, if there is one.
  unsigned best_gid_index() const;
  /// Cycles per second of the free-running counter; 0: not known.
  std::uint64_t counter_frequency() const noexcept;
  /// 0, or the error of the driver.
  int read_counter(std::uint64_t& cycles) const noexcept;

 private:
  Adapter(const std::string& name, OwnedContext context);
  int gid_rank(unsigned index) const;

  const std::string name_;
  std::string iface_name_;
  OwnedContext context_;
  ibv_device_attr attributes_{};
  ibv_port_attr port_{};
};

/// The capabilities of an adapter in this backend.
Capabilities capabilities_of(const Adapter& adapter);

/// The properties of a device; without capabilities where this user may not open it.
DeviceProperties properties_of(const ibv_device& device);

}  // namespace pydoca::verbs
