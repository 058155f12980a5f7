#include "rdma/rdma.hpp"

#include <span>

using namespace pydoca;
using capi::Call;

namespace {

constexpr std::size_t most_details = 512;

std::span<const std::byte> bytes_of(const void* data, std::size_t size) noexcept {
  return {static_cast<const std::byte*>(data), size};
}

/// Calls a function of the engine's context.
template <class Action>
doca_error_t act(const Call& call, doca_rdma* rdma, Action action) noexcept {
  return call.has(rdma) ? call.run([&] { action(rdma->engine()); }) : DOCA_ERROR_INVALID_VALUE;
}

/// Calls a function of the engine's connection.
template <class Action>
doca_error_t act(const Call& call, doca_rdma_connection* connection, Action action) noexcept {
  return call.has(connection) ? call.run([&] { action(*connection->connection); }) : DOCA_ERROR_INVALID_VALUE;
}

template <class... Argument>
doca_error_t refuse_bridge(const Call& call, const Argument*... arguments) noexcept {
  if (!call.has(arguments...)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.refuse(Status::not_supported,
                     "the engine makes its queue pairs itself; use doca_rdma_connect_to_addr(), or exchange details");
}

}  // namespace

doca_error_t doca_rdma_export(doca_rdma* rdma, const void** local_rdma_conn_details,
                              std::size_t* local_rdma_conn_details_size, doca_rdma_connection** rdma_connection) {
  const Call call;
  if (!call.has(rdma, local_rdma_conn_details, local_rdma_conn_details_size, rdma_connection)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.run([&] {
    std::list<std::vector<std::byte>> kept(1);
    std::vector<std::byte>& details = kept.front();
    details.reserve(most_details);  // else what follows could fail when the connection is there
    doca_rdma_connection& added =
        capi::add_connection(*rdma, doca_data{}, [&] { return rdma->engine().export_connection(); });
    details = added.connection->details();
    rdma->details.splice(rdma->details.end(), kept);
    *local_rdma_conn_details = details.data();
    *local_rdma_conn_details_size = details.size();
    *rdma_connection = &added;
  });
}

doca_error_t doca_rdma_connect(doca_rdma* rdma, const void* remote_rdma_conn_details,
                               std::size_t remote_rdma_conn_details_size, doca_rdma_connection* rdma_connection) {
  const Call call;
  if (!call.has(rdma, remote_rdma_conn_details, rdma_connection)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.run([&] {
    rdma->engine().connect(bytes_of(remote_rdma_conn_details, remote_rdma_conn_details_size),
                           *rdma_connection->connection);
  });
}

doca_error_t doca_rdma_start_listen_to_port(doca_rdma* rdma, std::uint16_t port) {
  return act(Call(), rdma, [&](Rdma& engine) { engine.start_listen_to_port(port); });
}

doca_error_t doca_rdma_stop_listen_to_port(doca_rdma* rdma, std::uint16_t port) {
  return act(Call(), rdma, [&](Rdma& engine) { engine.stop_listen_to_port(port); });
}

doca_error_t doca_rdma_connect_to_addr(doca_rdma* rdma, doca_rdma_addr* addr, doca_data connection_user_data) {
  const Call call;
  if (!call.has(rdma, addr)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.run([&] {
    capi::add_connection(*rdma, connection_user_data, [&] { return rdma->engine().connect_to_addr(*addr->address); });
  });
}

doca_error_t doca_rdma_connection_accept(doca_rdma_connection* rdma_connection, void* private_data,
                                         std::uint8_t private_data_len) {
  const Call call;
  if (private_data == nullptr && private_data_len != 0) {
    return call.invalid("private_data is NULL, and its length is not 0");
  }
  return act(call, rdma_connection,
             [&](RdmaConnection& connection) { connection.accept(bytes_of(private_data, private_data_len)); });
}

doca_error_t doca_rdma_connection_reject(doca_rdma_connection* rdma_connection) {
  return act(Call(), rdma_connection, [](RdmaConnection& connection) { connection.reject(); });
}

doca_error_t doca_rdma_connection_disconnect(doca_rdma_connection* rdma_connection) {
  return act(Call(), rdma_connection, [](RdmaConnection& connection) { connection.disconnect(); });
}

doca_error_t doca_rdma_connection_set_user_data(doca_rdma_connection* rdma_connection, doca_data connection_user_data) {
  if (!Call().has(rdma_connection)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  rdma_connection->user_data = connection_user_data;
  return DOCA_SUCCESS;
}

doca_error_t doca_rdma_connection_get_user_data(const doca_rdma_connection* rdma_connection,
                                                doca_data* connection_user_data) {
  if (!Call().has(rdma_connection, connection_user_data)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  *connection_user_data = rdma_connection->user_data;
  return DOCA_SUCCESS;
}

doca_error_t doca_rdma_connection_get_id(const doca_rdma_connection* rdma_connection, std::uint32_t* connection_id) {
  if (!Call().has(rdma_connection, connection_id)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  *connection_id = rdma_connection->connection->id();
  return DOCA_SUCCESS;
}

doca_error_t doca_rdma_connection_get_addr(const doca_rdma_connection* rdma_connection, doca_rdma_addr** addr) {
  const Call call;
  if (!call.has(rdma_connection, addr)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.run([&] {
    if (rdma_connection->addr == nullptr) {
      rdma_connection->addr = capi::make_address(rdma_connection->connection->addr());
      rdma_connection->addr->is_of_connection = true;
    }
    *addr = rdma_connection->addr.get();
  });
}

doca_error_t doca_rdma_bridge_prepare_connection(doca_rdma* rdma, void* cm_id, doca_rdma_connection** rdma_connection) {
  return refuse_bridge(Call(), rdma, cm_id, rdma_connection);
}

doca_error_t doca_rdma_bridge_accept(doca_rdma* rdma, void* /*private_data*/, std::uint8_t /*private_data_len*/,
                                     doca_rdma_connection* rdma_connection) {
  return refuse_bridge(Call(), rdma, rdma_connection);
}

doca_error_t doca_rdma_bridge_established(doca_rdma* rdma, doca_rdma_connection* rdma_connection) {
  return refuse_bridge(Call(), rdma, rdma_connection);
}
