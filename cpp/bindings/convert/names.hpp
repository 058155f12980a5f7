/// Enumerators by the names that users write. Python's enumerations have the same names in capitals.
#pragma once

#include <pydoca/clock.hpp>
#include <pydoca/rdma.hpp>
#include <pydoca/sync_event.hpp>
#include <pydoca/types.hpp>

#include "convert/pybind.hpp"

#include <pybind11/native_enum.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>

namespace pydoca::bindings {

template <class Enum>
struct Named {
  std::string_view name;
  Enum value;
};

inline constexpr std::array access_names{
    Named{"local_read_only", Access::local_read_only},
    Named{"local_read_write", Access::local_read_write},
    Named{"rdma_read", Access::rdma_read},
    Named{"rdma_write", Access::rdma_write},
    Named{"rdma_atomic", Access::rdma_atomic},
    Named{"pci_read_only", Access::pci_read_only},
    Named{"pci_read_write", Access::pci_read_write},
    Named{"pci_relaxed_ordering", Access::pci_relaxed_ordering},
};
inline constexpr std::array named_sides{Named{side_names[0], Side::host}, Named{side_names[1], Side::dpu}};
inline constexpr std::array filter_names{Named{"all", RepFilter::all}, Named{"net", RepFilter::net},
                                         Named{"emulated", RepFilter::emulated}};
inline constexpr std::array func_type_names{Named{pci_func_type_names[0], PciFuncType::pf},
                                            Named{pci_func_type_names[1], PciFuncType::vf},
                                            Named{pci_func_type_names[2], PciFuncType::sf}};
inline constexpr std::array location_names{
    Named{"cpu", SyncEventLocation::cpu},
    Named{"remote_pci", SyncEventLocation::remote_pci},
    Named{"remote_net", SyncEventLocation::remote_net},
    Named{"dpa", SyncEventLocation::dpa},
    Named{"gpu", SyncEventLocation::gpu},
};
inline constexpr std::array clock_names{
    Named{"nic_free_running", ClockType::nic_free_running},
    Named{"nic_real_time", ClockType::nic_real_time},
    Named{"nic_dpa_timer", ClockType::nic_dpa_timer},
    Named{"host_counter_cycles", ClockType::host_counter_cycles},
    Named{"host_real_time", ClockType::host_real_time},
    Named{"host_monotonic", ClockType::host_monotonic},
    Named{"host_monotonic_raw", ClockType::host_monotonic_raw},
};
inline constexpr std::array transport_names{Named{"rc", RdmaTransport::rc}, Named{"dc", RdmaTransport::dc}};
inline constexpr std::array address_type_names{
    Named{"ipv4", RdmaAddressType::ipv4}, Named{"ipv6", RdmaAddressType::ipv6}, Named{"gid", RdmaAddressType::gid}};

/// Adds the enumerators of names to an enumeration of Python.
template <class Enum, class Names>
void bind_names(py::native_enum<Enum>&& type, const Names& names) {
  for (const auto& [name, value] : names) {
    std::string capitals(name);
    std::ranges::transform(capitals, capitals.begin(), [](unsigned char letter) { return std::toupper(letter); });
    type.value(capitals.c_str(), value);
  }
  type.finalize();
}

}  // namespace pydoca::bindings
