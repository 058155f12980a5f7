#include "library/capabilities.hpp"

#include "rdma/rdma.hpp"

using namespace pydoca;
using capi::Call;

doca_error_t doca_rdma_cap_get_max_recv_queue_size(const doca_devinfo* devinfo, std::uint32_t* max_recv_queue_size) {
  return capi::answer_limit(Call(), devinfo, max_recv_queue_size, Rdma::max_recv_queue_size);
}

doca_error_t doca_rdma_cap_get_max_send_queue_size(const doca_devinfo* devinfo, std::uint32_t* max_send_queue_size) {
  return capi::answer_limit(Call(), devinfo, max_send_queue_size, Rdma::max_send_queue_size);
}

doca_error_t doca_rdma_cap_get_max_send_buf_list_len(const doca_devinfo* devinfo,
                                                     std::uint32_t* max_send_buf_list_len) {
  return capi::answer_limit(Call(), devinfo, max_send_buf_list_len,
                            [](const DeviceInfo& info) { return Rdma::max_send_buf_list_len(info); });
}

doca_error_t doca_rdma_cap_get_max_message_size(const doca_devinfo* devinfo, std::uint32_t* max_message_size) {
  return capi::answer_limit(Call(), devinfo, max_message_size, Rdma::max_message_size);
}

doca_error_t doca_rdma_cap_get_gid_table_size(const doca_devinfo* devinfo, std::uint32_t* gid_table_size) {
  return capi::answer_limit(Call(), devinfo, gid_table_size, Rdma::gid_table_size);
}

doca_error_t doca_rdma_cap_get_gid(const doca_devinfo* devinfo, std::uint32_t start_index, std::uint32_t num_entries,
                                   doca_rdma_gid* gid_array) {
  const Call call;
  if (!call.has(devinfo, gid_array)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.ask([&] {
    for (const Gid& gid : Rdma::gids(*devinfo->info, start_index, num_entries)) {
      capi::copy_bytes(gid, (gid_array++)->raw);
    }
  });
}

doca_error_t doca_rdma_cap_transport_type_is_supported(const doca_devinfo* devinfo,
                                                       doca_rdma_transport_type transport_type) {
  return capi::answer_support(Call(), devinfo, [&](const DeviceInfo& info) noexcept {
    return Rdma::is_transport_type_supported(info, capi::enumerator<RdmaTransport>(transport_type));
  });
}

doca_error_t doca_rdma_cap_task_receive_get_max_dst_buf_list_len(const doca_devinfo* devinfo,
                                                                 doca_rdma_transport_type transport_type,
                                                                 std::uint32_t* max_buf_list_len) {
  return capi::answer_limit(Call(), devinfo, max_buf_list_len, [&](const DeviceInfo& info) {
    return Rdma::max_receive_dst_buf_list_len(info, capi::enumerator<RdmaTransport>(transport_type));
  });
}
