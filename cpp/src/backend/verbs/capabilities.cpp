#include "backend/verbs/adapter.hpp"
#include "backend/verbs/cm_library.hpp"
#include "detail/concat.hpp"

#include <algorithm>

namespace pydoca::verbs {

namespace {

/// Lists longer than this make every entry of a queue larger, and drivers then have fewer of them than they say.
constexpr int max_list_len = 16;
constexpr int entries_per_list = 8;

std::uint32_t list_len_of(const ibv_device_attr& limits) noexcept {
  return static_cast<std::uint32_t>(std::clamp(limits.max_sge, 1, max_list_len));
}

std::uint32_t queue_size_of(const ibv_device_attr& limits) noexcept {
  // Both ends of a queue pair complete into one queue.
  return static_cast<std::uint32_t>(std::max(1, std::min(limits.max_qp_wr / entries_per_list, limits.max_cqe / 2 - 1)));
}

backend::DmaCapabilities dma_of(const Adapter& adapter) {
  return {.max_buf_size = adapter.port().max_msg_sz,
          .max_buf_list_len = list_len_of(adapter.attributes()),
          .max_num_tasks = queue_size_of(adapter.attributes())};
}

}  // namespace

backend::Capabilities capabilities_of(const Adapter& adapter) {
  backend::Capabilities capabilities;
  const bool has_atomics = adapter.attributes().atomic_cap != IBV_ATOMIC_NONE;
  capabilities.dma = dma_of(adapter);
  capabilities.sync_event = {.export_to_remote_pci = false,
                             .create_from_export = false,
                             .export_to_remote_net = has_atomics,
                             .remote_net_create_from_export = true,
                             .async_wait = true,
                             .max_num_tasks = 65536};
  capabilities.mmap_export_rdma = true;
  return capabilities;
}

}  // namespace pydoca::verbs
