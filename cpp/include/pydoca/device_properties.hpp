/// What a function is and what it can do, as data: a backend fills it in, and programs read it.
#pragma once

#include "pydoca/rdma_tasks.hpp"
#include "pydoca/sha_algorithm.hpp"
#include "pydoca/types.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pydoca {

struct DmaCapabilities {
  std::uint64_t max_buf_size = 0;      ///< bytes that one task can copy
  std::uint32_t max_buf_list_len = 0;  ///< elements; 1: no lists
  std::uint32_t max_num_tasks = 0;     ///< of one context
};

struct ShaCapabilities {
  bool sha1 = false;
  bool sha256 = false;
  bool sha512 = false;
  std::uint64_t max_src_buf_size = 0;       ///< bytes that one task can hash
  std::uint32_t max_list_buf_num_elem = 0;  ///< elements of a source; 1: no lists
  std::uint32_t max_num_tasks = 0;          ///< of one context

  /// Also of what is not an algorithm.
  bool has(ShaAlgorithm algorithm) const noexcept {
    switch (algorithm) {
      case ShaAlgorithm::sha1:
        return sha1;
      case ShaAlgorithm::sha256:
        return sha256;
      case ShaAlgorithm::sha512:
        return sha512;
    }
    return false;
  }
};

struct MmapAdviseCapabilities {
  std::uint64_t max_buf_size = 0;   ///< bytes of which one task can invalidate the cache
  std::uint32_t max_num_tasks = 0;  ///< of one context
};

struct ClockCapabilities {
  bool nic_free_running = false;
  bool nic_real_time = false;
  bool nic_dpa_timer = false;
  std::uint64_t free_running_frequency = 0;  ///< cycles per second
};

struct ComchCapabilities {
  bool server = false;
  bool client = false;
  std::uint32_t max_name_len = 0;         ///< bytes, including the terminating NUL
  std::uint32_t max_msg_size = 0;         ///< bytes
  std::uint32_t max_recv_queue_size = 0;  ///< messages
  std::uint32_t max_clients = 0;          ///< of one server
  std::uint32_t max_send_tasks = 0;       ///< of one context
};

struct DpaCapabilities {
  std::uint32_t max_num_threads = 0;  ///< that run kernels at a time
};

struct SyncEventCapabilities {
  bool export_to_remote_pci = false;
  bool create_from_export = false;
  bool export_to_remote_net = false;
  bool remote_net_create_from_export = false;
  bool export_to_dpa = false;
  bool async_wait = false;          ///< wait tasks: BlueField-3, ConnectX-7 and newer
  std::uint32_t max_num_tasks = 0;  ///< of one kind in one context
};

/// A refusal says why the device lacks something ("rxe0 has no atomics"). It is empty where the device has it.
struct RdmaCapabilities {
  std::uint32_t max_send_queue_size = 0;    ///< tasks, but for receives, in flight on one connection
  std::uint32_t max_recv_queue_size = 0;    ///< receives in flight in one context
  std::uint32_t max_send_buf_list_len = 0;  ///< elements
  std::uint32_t max_recv_buf_list_len = 0;  ///< elements
  std::uint32_t max_message_size = 0;       ///< bytes
  std::uint16_t max_num_connections = 0;
  MtuSize max_mtu = MtuSize::bytes_4096;
  std::uint32_t gid_table_size = 0;                        ///< entries
  std::vector<Gid> gids;                                   ///< the first entries, to the last that is set; never empty
  std::uint32_t default_gid_index = 0;                     ///< the one that reaches most peers
  std::array<std::string, num_rdma_task_kinds> no_opcode;  ///< refusals, by RdmaTaskKind
  std::string no_connection_manager;                       ///< refusal of connecting by address
  std::string no_dynamically_connected;                    ///< refusal of transport DC
};

/// Why a device lacks something that Capabilities says it lacks: the end of a sentence such as "pf0 is not suitable:
/// ...". Empty: the backend has no better reason than that the device lacks it.
struct Refusals {
  std::string dma;
  std::string sha;
  std::string comch_server;
  std::string comch_client;
  std::string mmap_export_pci;
  std::string mmap_create_from_export_pci;
  std::string mmap_export_rdma;
  std::string representors;
  std::string sync_event;
  std::string sync_event_pci;  ///< of exporting to the other side of the PCIe link, and importing from there
  std::string sync_event_net;  ///< the same for network peers
  std::string async_wait;
  std::string mmap_advise;
  std::string clock;
  std::string dpa;  ///< also of exporting sync events to it
};

/// An engine that a device lacks is an empty optional. Queries on it throw not_supported.
struct Capabilities {
  std::optional<DmaCapabilities> dma;
  std::optional<ShaCapabilities> sha;
  std::optional<ComchCapabilities> comch;
  std::optional<SyncEventCapabilities> sync_event;
  std::optional<RdmaCapabilities> rdma;
  std::optional<MmapAdviseCapabilities> mmap_advise;
  std::optional<ClockCapabilities> clock;
  std::optional<DpaCapabilities> dpa;
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
