/// What a function is and what it can do, as data: a backend fills it in, and programs read it.
#pragma once

#include "pydoca/capability/libraries.hpp"
#include "pydoca/types.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#pragma GCC visibility push(default)

namespace pydoca {

/// Why a device lacks something that Capabilities says it lacks, as LibraryRefusals has it.
struct Refusals : LibraryRefusals {
  std::string comch_server;
  std::string comch_client;
  std::string mmap_export_pci;
  std::string mmap_create_from_export_pci;
  std::string mmap_export_rdma;
  std::string representors;
  std::string sync_event_pci;  ///< why not to export to the other side of the PCIe link, or import from there
  std::string sync_event_net;  ///< the same for network peers
  std::string async_wait;
};

struct Capabilities : LibraryCapabilities {
  std::string no_rdma = "the backend has no RDMA for it";  ///< why rdma is empty, when it is
  bool mmap_export_pci = false;
  bool mmap_create_from_export_pci = false;
  bool mmap_export_rdma = false;
  bool rep_filter_all = false;
  bool rep_filter_net = false;
  bool rep_filter_emulated = false;
  bool hotplug_manager = false;
  bool notification_moderation = false;      ///< it gathers notifications before it interrupts
  bool accelerate_resource_reclaim = false;  ///< it keeps costly resources for a quick restart
  Refusals refusals;

  static constexpr const char* name = "Capabilities";
  static constexpr const char* says =
      "The capabilities of a function. The field of an engine that the function lacks is None.";
  /// Those beside the libraries'.
  static constexpr auto own_fields() noexcept {
    using T = Capabilities;
    return std::tuple{
        Field{"mmap_export_pci", &T::mmap_export_pci,
              "Whether its memory maps can be exported to the other side of its PCIe link."},
        Field{"mmap_create_from_export_pci", &T::mmap_create_from_export_pci,
              "Whether it can import memory maps of the other side."},
        Field{"mmap_export_rdma", &T::mmap_export_rdma, "Whether its memory maps can be exported to network peers."},
        Field{"rep_filter_all", &T::rep_filter_all, "Whether it can list representors of every kind."},
        Field{"rep_filter_net", &T::rep_filter_net, "Whether it can list representors of network functions."},
        Field{"rep_filter_emulated", &T::rep_filter_emulated,
              "Whether it can list representors of emulated functions."},
        Field{"hotplug_manager", &T::hotplug_manager, "Whether it can plug in emulated functions."},
        Field{"notification_moderation", &T::notification_moderation,
              "Whether it can gather notifications before it interrupts."},
        Field{"accelerate_resource_reclaim", &T::accelerate_resource_reclaim,
              "Whether it can keep costly resources for a quick restart."}};
  }
};

/// One function, as an enumeration saw it.
struct DeviceProperties {
  std::string backend;   ///< "sim", "verbs"
  std::string name;      ///< unique within a backend and side: "pf0", "p0", "rxe0"
  std::string pci_addr;  ///< "0000:03:00.0"; empty for a device in software, such as Soft-RoCE
  PciFuncType func_type = PciFuncType::pf;
  Side side = Side::host;
  std::string iface_name;
  std::string ibdev_name;
  std::string vuid;
  std::string profile;                                  ///< "bluefield3", ...
  std::optional<std::array<std::uint8_t, 6>> mac_addr;  ///< absent on an InfiniBand port
  std::optional<std::array<std::uint8_t, 4>> ipv4_addr;
  std::optional<std::array<std::uint8_t, 16>> ipv6_addr;
  std::optional<std::uint16_t> lid;       ///< InfiniBand link layer only
  std::optional<std::uint32_t> sf_index;  ///< SFs only
  std::uint64_t active_rate = 0;          ///< bits/s
  std::uint16_t vhca_id = 0;
  Capabilities capabilities;

  /// The fields, in the order that dictionaries have; the backend is not one of them.
  static constexpr auto fields() noexcept {
    using T = DeviceProperties;
    return std::tuple{
        Field{"name", &T::name, "Unique on its side, such as \"p0\"."},
        Field{"pci_addr", &T::pci_addr,
              "In the long form, 0000:03:00.0; empty for a software device such as Soft-RoCE."},
        Field{"func_type", &T::func_type, "The type of the function: PF, VF or SF."},
        Field{"side", &T::side, "The side of the PCIe link on which the function is: HOST or DPU."},
        Field{"profile", &T::profile, "The name of the card, such as \"bluefield3\"."},
        Field{"iface_name", &T::iface_name, "The name of its network interface; empty when it has none."},
        Field{"ibdev_name", &T::ibdev_name, "The name of its RDMA device; empty when it has none."},
        Field{"vuid", &T::vuid, "The unique identifier among all functions; may be empty."},
        Field{"vhca_id", &T::vhca_id, "The card's number for the function."},
        Field{"active_rate", &T::active_rate, "The rate of its port in bit/s."},
        Field{"mac_addr", &T::mac_addr, "The MAC address of its port."},
        Field{"ipv4_addr", &T::ipv4_addr, "The IPv4 address of its interface."},
        Field{"ipv6_addr", &T::ipv6_addr, "The IPv6 address of its interface."},
        Field{"lid", &T::lid, "The LID of its port."},
        Field{"sf_index", &T::sf_index, "The index of the SF."},
        Field{"capabilities", &T::capabilities, "The Capabilities of the function: its engines and their limits."}};
  }
};

/// A function of the other side (or an SF) as the DPU sees it.
struct RepresentorProperties {
  std::string name;      ///< "hpf0", ...
  std::string pci_addr;  ///< the represented function's address on its own side
  PciFuncType func_type = PciFuncType::pf;
  std::string vuid;
  std::string iface_name;
  std::uint16_t vhca_id = 0;
  bool is_hotplug = false;
  bool is_emulated = false;
};

}  // namespace pydoca

#pragma GCC visibility pop
