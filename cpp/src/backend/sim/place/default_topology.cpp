#include "pydoca/device_properties.hpp"
#include "pydoca/sim.hpp"

#include "backend/sim/place/gids.hpp"
#include "backend/sim/place/profile.hpp"
#include "detail/concat.hpp"

#include <array>

namespace pydoca::sim {

namespace {

/// One function of the guide's machine: the fields in which the functions differ.
struct Row {
  std::string_view name;
  std::string_view pci_addr;
  PciFuncType type;
  Side side;
  std::string_view iface;
  std::uint8_t ibdev_index;  // each side is an operating system of its own, and counts from 0
  std::string_view vuid;
  std::uint8_t ipv4_host;  // 10.0.<port>.<ipv4_host>; 0: not configured
  std::string_view parent;
  std::string_view representor;
};

constexpr std::array<Row, 9> rows{{
    {"pf0", "0000:0b:00.0", PciFuncType::pf, Side::host, "ens1f0np0", 0, "SIM0001X00001S0D0F0", 1, "p0", "hpf0"},
    {"pf1", "0000:0b:00.1", PciFuncType::pf, Side::host, "ens1f1np1", 1, "SIM0001X00001S0D0F1", 1, "p1", "hpf1"},
    {"pf0vf0", "0000:0b:00.2", PciFuncType::vf, Side::host, "ens1f0v0", 2, "SIM0001X00001S0D0F0VF1", 0, "p0",
     "hpf0vf0"},
    {"pf0vf1", "0000:0b:00.3", PciFuncType::vf, Side::host, "ens1f0v1", 3, "SIM0001X00001S0D0F0VF2", 0, "p0",
     "hpf0vf1"},
    {"pf1vf0", "0000:0b:00.4", PciFuncType::vf, Side::host, "ens1f1v0", 4, "SIM0001X00001S0D0F1VF1", 0, "p1",
     "hpf1vf0"},
    {"p0", "0000:03:00.0", PciFuncType::pf, Side::dpu, "p0", 0, "SIM0001X00001ECS0D0F0", 2, "", ""},
    {"p1", "0000:03:00.1", PciFuncType::pf, Side::dpu, "p1", 1, "SIM0001X00001ECS0D0F1", 2, "", ""},
    {"p0s0", "0000:03:00.0", PciFuncType::sf, Side::dpu, "enp3s0f0s0", 2, "SIM0001X00001ECS0D0F0SF0", 0, "p0",
     "pf0sf0"},
    {"p1s0", "0000:03:00.1", PciFuncType::sf, Side::dpu, "enp3s0f1s0", 3, "SIM0001X00001ECS0D0F1SF0", 0, "p1",
     "pf1sf0"},
}};

std::uint8_t port_of(const Row& row) noexcept {
  const std::string_view port = row.parent.empty() ? row.name : row.parent;
  return port == "p0" ? 0 : 1;
}

/// Locally administered (02:...): no vendor has it.
std::array<std::uint8_t, 6> mac_of(const Row& row, std::uint8_t index) noexcept {
  return {0x02, 0x50, 0x44, row.side == Side::host ? std::uint8_t{0x0b} : std::uint8_t{0x03}, 0x00, index};
}

DeviceProperties properties_of(const Row& row, std::uint8_t index, std::string_view profile) {
  DeviceProperties properties;
  properties.backend = "sim";
  properties.name = row.name;
  properties.pci_addr = row.pci_addr;
  properties.func_type = row.type;
  properties.side = row.side;
  properties.iface_name = row.iface;
  properties.ibdev_name = detail::concat("mlx5_", row.ibdev_index);
  properties.vuid = row.vuid;
  properties.profile = profile;
  properties.mac_addr = mac_of(row, index);
  if (row.ipv4_host != 0) {
    properties.ipv4_addr = {10, 0, port_of(row), row.ipv4_host};
    properties.ipv6_addr = gids_of(properties).front();
  }
  if (row.type == PciFuncType::sf) {
    properties.sf_index = 0;
  }
  properties.active_rate = profile_rate(profile);
  properties.vhca_id = index;
  properties.capabilities = function_capabilities(profile, row.side, row.type);
  properties.capabilities.rdma->gids = gids_of(properties);
  return properties;
}

}  // namespace

Topology default_topology(std::string_view profile, std::string_view host_pci_addr) {
  std::string slot = canonical_pci_addr(host_pci_addr);
  if (!slot.ends_with(".0")) {
    throw Error(Status::invalid_value, detail::concat("topology: host_pci_addr is ", host_pci_addr,
                                                      ", and the host's functions are .0 to .4 of "
                                                      "one address; write it as b1:00.0"));
  }
  slot.pop_back();
  Topology topology;
  std::uint8_t index = 0;
  for (const Row& row : rows) {
    Function function;
    function.properties = properties_of(row, index++, profile);
    if (row.side == Side::host) {
      function.properties.pci_addr = slot + row.pci_addr.back();
    }
    function.parent = row.parent;
    function.representor = row.representor;
    topology.functions.push_back(std::move(function));
  }
  return topology;
}

}  // namespace pydoca::sim
