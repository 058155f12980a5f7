#include "pydoca/backend/rdma.hpp"
#include "pydoca/device_properties.hpp"

#include "backend/verbs/adapter/adapter.hpp"
#include "backend/verbs/adapter/limits.hpp"
#include "backend/verbs/library/cm_library.hpp"
#include "backend/verbs/queue/copy_queue.hpp"
#include "detail/concat.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <unistd.h>
#include <vector>

namespace pydoca::verbs {

namespace {

constexpr int max_connections = 4096;

/// The GIDs up to the last one that is set.
std::vector<Gid> gids_of(const Adapter& adapter) {
  constexpr int enough = 256;
  std::vector<Gid> gids;
  for (int index = 0; index < std::min(enough, adapter.port().gid_tbl_len); ++index) {
    gids.push_back(adapter.gid(static_cast<unsigned>(index)));
  }
  while (gids.size() > 1 && gids.back() == Gid{}) {
    gids.pop_back();
  }
  gids.resize(std::max<std::size_t>(gids.size(), 1));
  return gids;
}

std::string why_no_connection_manager() {
  if (!cm_library().reason.empty()) {
    return cm_library().reason;
  }
  constexpr const char* device = "/dev/infiniband/rdma_cm";
  return ::access(device, R_OK | W_OK) == 0
             ? ""
             : detail::concat(device, ": ", std::strerror(errno), "; load the kernel's module rdma_ucm");
}

RdmaCapabilities rdma_of(const Adapter& adapter) {
  const ibv_device_attr& limits = adapter.attributes();
  const auto at_most = [](int one, int other) { return static_cast<std::uint32_t>(std::max(1, std::min(one, other))); };
  RdmaCapabilities rdma;
  rdma.max_send_queue_size = queue_size_of(limits, 2);
  rdma.max_recv_queue_size = at_most(limits.max_srq_wr, limits.max_cqe / 2);
  rdma.max_send_buf_list_len = list_len_of(limits);
  rdma.max_recv_buf_list_len = at_most(limits.max_srq_sge, max_list_len);
  rdma.max_message_size = adapter.port().max_msg_sz;
  rdma.max_num_connections = static_cast<std::uint16_t>(at_most(limits.max_qp, max_connections));
  rdma.max_mtu = static_cast<MtuSize>(std::clamp(static_cast<int>(adapter.port().active_mtu), 1, 5) - 1);
  rdma.gids = gids_of(adapter);
  rdma.gid_table_size = static_cast<std::uint32_t>(std::max(1, adapter.port().gid_tbl_len));
  rdma.default_gid_index = adapter.best_gid_index();
  rdma.no_connection_manager = why_no_connection_manager();
  rdma.no_dynamically_connected = "transport DC is not made of standard verbs; use RC";
  if (limits.atomic_cap == IBV_ATOMIC_NONE) {
    using enum backend::RdmaOpcode;
    for (const backend::RdmaOpcode opcode : {compare_swap, fetch_add, counter_add}) {
      rdma.no_opcode[static_cast<std::size_t>(opcode)] = adapter.name() + " has no atomics";
    }
  }
  return rdma;
}

std::optional<ClockCapabilities> clock_of(const Adapter& adapter) {
  std::uint64_t cycles = 0;
  const std::uint64_t frequency = adapter.counter_frequency();
  if (frequency == 0 || adapter.read_counter(cycles) != 0) {
    return std::nullopt;
  }
  return ClockCapabilities{.nic_free_running = true, .free_running_frequency = frequency};
}

Refusals refusals_of(const Adapter& adapter) {
  Refusals refusals;
  refusals.mmap_advise = "rdma-core invalidates no cache";
  refusals.clock = detail::concat("the driver of ", adapter.name(), " does not read its clock for rdma-core");
  refusals.comch_server = refusals.comch_client = refusals.mmap_export_pci = refusals.mmap_create_from_export_pci =
      refusals.sync_event_pci = "rdma-core reaches network peers, not the other side of the PCIe link";
  refusals.representors = "rdma-core lists no representors";
  refusals.sync_event_net = adapter.name() + " has no atomics";
  return refusals;
}

}  // namespace

Capabilities capabilities_of(const Adapter& adapter) {
  Capabilities capabilities;
  const bool has_atomics = adapter.attributes().atomic_cap != IBV_ATOMIC_NONE;
  equip_with_copies(capabilities, adapter);
  capabilities.sync_event = {.export_to_remote_pci = false,
                             .create_from_export = false,
                             .export_to_remote_net = has_atomics,
                             .remote_net_create_from_export = true,
                             .async_wait = true,
                             .max_num_tasks = 65536};
  capabilities.clock = clock_of(adapter);
  capabilities.mmap_export_rdma = true;
  capabilities.rdma = rdma_of(adapter);
  capabilities.refusals = refusals_of(adapter);
  return capabilities;
}

}  // namespace pydoca::verbs
