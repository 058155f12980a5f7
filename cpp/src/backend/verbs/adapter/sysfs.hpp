#pragma once

#include "pydoca/types.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace pydoca::verbs {

/// Properties of an RDMA device that sysfs has and verbs do not. path is the device's, such as
/// /sys/class/infiniband/mlx5_0. What is not there is empty.
class Sysfs {
 public:
  Sysfs(std::string path, unsigned port) : path_(std::move(path)), port_(std::to_string(port)) {}

  /// The address in the long form; a subfunction has its parent's. Empty for a device in software.
  std::string pci_addr() const;
  PciFuncType func_type() const;
  std::optional<std::uint32_t> sf_index() const;
  /// The network interface of the port.
  std::string iface_name() const;
  /// Bits per second.
  std::uint64_t rate() const;
  /// The model, as its driver names it.
  std::string model() const;
  bool is_roce_v2(unsigned gid_index) const;

 private:
  std::string read(const std::string& name) const;
  std::string read_port(const std::string& name) const { return read("ports/" + port_ + "/" + name); }

  std::string path_;
  std::string port_;
};

/// The address of an Ethernet interface.
std::optional<std::array<std::uint8_t, 6>> mac_addr_of(const std::string& iface);

struct IpAddresses {
  std::optional<std::array<std::uint8_t, 4>> ipv4;
  std::optional<std::array<std::uint8_t, 16>> ipv6;
};
/// The first of each type.
IpAddresses ip_addresses_of(const std::string& iface);

}  // namespace pydoca::verbs
