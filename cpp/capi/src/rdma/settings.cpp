#include "rdma/rdma.hpp"

using namespace pydoca;
using capi::Call;

namespace {

template <class Apply>
doca_error_t set(const Call& call, doca_rdma* rdma, Apply apply) noexcept {
  return call.has(rdma) ? call.run([&] { apply(rdma->engine()); }) : DOCA_ERROR_INVALID_VALUE;
}

template <class Value, class Read>
doca_error_t get(const Call& call, const doca_rdma* rdma, Value* value, Read read) noexcept {
  if (!call.has(rdma, value)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  *value = static_cast<Value>(read(rdma->engine()));
  return DOCA_SUCCESS;
}

}  // namespace

doca_error_t doca_rdma_set_send_queue_size(doca_rdma* rdma, std::uint32_t send_queue_size) {
  return set(Call(), rdma, [&](Rdma& engine) { engine.set_send_queue_size(send_queue_size); });
}

doca_error_t doca_rdma_get_send_queue_size(const doca_rdma* rdma, std::uint32_t* send_queue_size) {
  return get(Call(), rdma, send_queue_size, [](const Rdma& engine) { return engine.send_queue_size(); });
}

doca_error_t doca_rdma_set_recv_queue_size(doca_rdma* rdma, std::uint32_t recv_queue_size) {
  return set(Call(), rdma, [&](Rdma& engine) { engine.set_recv_queue_size(recv_queue_size); });
}

doca_error_t doca_rdma_get_recv_queue_size(const doca_rdma* rdma, std::uint32_t* recv_queue_size) {
  return get(Call(), rdma, recv_queue_size, [](const Rdma& engine) { return engine.recv_queue_size(); });
}

doca_error_t doca_rdma_set_max_send_buf_list_len(doca_rdma* rdma, std::uint32_t max_send_buf_list_len) {
  return set(Call(), rdma, [&](Rdma& engine) { engine.set_max_send_buf_list_len(max_send_buf_list_len); });
}

doca_error_t doca_rdma_get_max_send_buf_list_len(const doca_rdma* rdma, std::uint32_t* max_send_buf_list_len) {
  return get(Call(), rdma, max_send_buf_list_len, [](const Rdma& engine) { return engine.max_send_buf_list_len(); });
}

doca_error_t doca_rdma_task_receive_set_dst_buf_list_len(doca_rdma* rdma, std::uint32_t buf_list_len) {
  return set(Call(), rdma, [&](Rdma& engine) { engine.set_receive_dst_buf_list_len(buf_list_len); });
}

doca_error_t doca_rdma_task_receive_get_dst_buf_list_len(const doca_rdma* rdma, std::uint32_t* buf_list_len) {
  return get(Call(), rdma, buf_list_len, [](const Rdma& engine) { return engine.receive_dst_buf_list_len(); });
}

doca_error_t doca_rdma_set_transport_type(doca_rdma* rdma, doca_rdma_transport_type transport_type) {
  return set(Call(), rdma,
             [&](Rdma& engine) { engine.set_transport_type(capi::enumerator<RdmaTransport>(transport_type)); });
}

doca_error_t doca_rdma_get_transport_type(const doca_rdma* rdma, doca_rdma_transport_type* transport_type) {
  return get(Call(), rdma, transport_type, [](const Rdma& engine) { return engine.transport_type(); });
}

doca_error_t doca_rdma_set_mtu(doca_rdma* rdma, doca_mtu_size mtu) {
  return set(Call(), rdma, [&](Rdma& engine) { engine.set_mtu(capi::enumerator<MtuSize>(mtu)); });
}

doca_error_t doca_rdma_get_mtu(const doca_rdma* rdma, doca_mtu_size* mtu) {
  return get(Call(), rdma, mtu, [](const Rdma& engine) { return engine.mtu(); });
}

doca_error_t doca_rdma_set_permissions(doca_rdma* rdma, std::uint32_t permissions) {
  return set(Call(), rdma, [&](Rdma& engine) { engine.set_permissions(static_cast<Access>(permissions)); });
}

doca_error_t doca_rdma_get_permissions(const doca_rdma* rdma, std::uint32_t* permissions) {
  return get(Call(), rdma, permissions, [](const Rdma& engine) { return engine.permissions(); });
}

doca_error_t doca_rdma_set_grh_enabled(doca_rdma* rdma, std::uint8_t grh_enabled) {
  return set(Call(), rdma, [&](Rdma& engine) { engine.set_grh_enabled(grh_enabled != 0); });
}

doca_error_t doca_rdma_get_grh_enabled(const doca_rdma* rdma, std::uint8_t* grh_enabled) {
  return get(Call(), rdma, grh_enabled, [](const Rdma& engine) { return engine.grh_enabled(); });
}

doca_error_t doca_rdma_set_gid_index(doca_rdma* rdma, std::uint32_t gid_index) {
  return set(Call(), rdma, [&](Rdma& engine) { engine.set_gid_index(gid_index); });
}

doca_error_t doca_rdma_get_gid_index(const doca_rdma* rdma, std::uint32_t* gid_index) {
  return get(Call(), rdma, gid_index, [](const Rdma& engine) { return engine.gid_index(); });
}

doca_error_t doca_rdma_set_sl(doca_rdma* rdma, std::uint32_t sl) {
  return set(Call(), rdma, [&](Rdma& engine) { engine.set_sl(sl); });
}

doca_error_t doca_rdma_get_sl(const doca_rdma* rdma, std::uint32_t* sl) {
  return get(Call(), rdma, sl, [](const Rdma& engine) { return engine.sl(); });
}

doca_error_t doca_rdma_set_connection_request_timeout(doca_rdma* rdma, std::uint16_t timeout) {
  return set(Call(), rdma, [&](Rdma& engine) { engine.set_connection_request_timeout(timeout); });
}

doca_error_t doca_rdma_get_connection_request_timeout(const doca_rdma* rdma, std::uint16_t* timeout) {
  return get(Call(), rdma, timeout, [](const Rdma& engine) { return engine.connection_request_timeout(); });
}

doca_error_t doca_rdma_set_max_num_connections(doca_rdma* rdma, std::uint16_t max_num_connections) {
  return set(Call(), rdma, [&](Rdma& engine) { engine.set_max_num_connections(max_num_connections); });
}

doca_error_t doca_rdma_get_max_num_connections(const doca_rdma* rdma, std::uint16_t* max_num_connections) {
  return get(Call(), rdma, max_num_connections, [](const Rdma& engine) { return engine.max_num_connections(); });
}

doca_error_t doca_rdma_set_rnr_retry_count(doca_rdma* rdma, std::uint8_t rnr_retry_count) {
  return set(Call(), rdma, [&](Rdma& engine) { engine.set_rnr_retry_count(rnr_retry_count); });
}

doca_error_t doca_rdma_get_rnr_retry_count(const doca_rdma* rdma, std::uint8_t* rnr_retry_count) {
  return get(Call(), rdma, rnr_retry_count, [](const Rdma& engine) { return engine.rnr_retry_count(); });
}
