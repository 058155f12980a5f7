#include "pydoca/log.hpp"

#include "comch/endpoint.hpp"

#include <exception>

using namespace pydoca;
using capi::Call;

namespace {

void tell(doca_comch_event_connection_status_changed_cb_t callback, doca_comch_server& server,
          doca_comch_connection& handle, bool successful) noexcept {
  callback(reinterpret_cast<doca_comch_event_connection_status_changed*>(&server), &handle, successful ? 1 : 0);
}

doca_comch_server& server_of(const comch::Connection& connection) noexcept {
  return static_cast<doca_comch_server&>(capi::endpoint_of(connection));
}

/// A client that the program cannot be told of does not stay.
void connected(comch::Connection& connection, bool successful, std::uint64_t /*user_data*/) noexcept {
  doca_comch_server& server = server_of(connection);
  try {
    doca_comch_connection& handle = *capi::Slab<doca_comch_connection>::make();
    capi::bind(handle, connection);
    tell(server.connected, server, handle, successful);
    if (!successful) {
      capi::Slab<doca_comch_connection>::end(handle);
    }
  } catch (const std::exception& error) {
    log::engine(log::Level::error, "c", error.what());
    if (successful) {
      server.engine().disconnect(connection);
    }
  }
}

void disconnected(comch::Connection& connection, bool successful, std::uint64_t /*user_data*/) noexcept {
  doca_comch_server& server = server_of(connection);
  if (doca_comch_connection* const handle = capi::known(connection)) {
    tell(server.disconnected, server, *handle, successful);
    capi::Slab<doca_comch_connection>::end(*handle);
  }
}

}  // namespace

doca_error_t doca_comch_server_create(doca_dev* dev, doca_dev_rep* repr, const char* name,
                                      doca_comch_server** comch_server) {
  const Call call;
  if (!call.has(dev, repr, name, comch_server)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.run([&] {
    auto* const server =
        capi::make_context<doca_comch_server>(comch::Server::create(dev->device, repr->representor, name));
    server->dev = dev;
    server->rep = repr;
    *comch_server = server;
  });
}

doca_error_t doca_comch_server_destroy(doca_comch_server* comch_server) { return capi::destroy(Call(), comch_server); }

doca_ctx* doca_comch_server_as_ctx(doca_comch_server* comch_server) { return capi::as_ctx(Call(), comch_server); }

doca_error_t doca_comch_server_set_max_msg_size(doca_comch_server* comch_server, std::uint32_t size) {
  return capi::set(Call(), comch_server, size, &comch::Endpoint::set_max_msg_size);
}

doca_error_t doca_comch_server_get_max_msg_size(const doca_comch_server* comch_server, std::uint32_t* size) {
  return capi::get(Call(), comch_server, size, &comch::Endpoint::max_msg_size);
}

doca_error_t doca_comch_server_set_recv_queue_size(doca_comch_server* comch_server, std::uint32_t size) {
  return capi::set(Call(), comch_server, size, &comch::Endpoint::set_recv_queue_size);
}

doca_error_t doca_comch_server_get_recv_queue_size(const doca_comch_server* comch_server, std::uint32_t* size) {
  return capi::get(Call(), comch_server, size, &comch::Endpoint::recv_queue_size);
}

doca_error_t doca_comch_server_get_device(const doca_comch_server* comch_server, doca_dev** dev) {
  return capi::get(Call(), comch_server, dev, &doca_comch_server::dev);
}

doca_error_t doca_comch_server_get_device_rep(const doca_comch_server* comch_server, doca_dev_rep** rep) {
  return capi::get(Call(), comch_server, rep, &doca_comch_server::rep);
}

doca_error_t doca_comch_server_event_msg_recv_register(doca_comch_server* comch_server,
                                                       doca_comch_event_msg_recv_cb_t recv_event_cb) {
  return capi::register_messages(Call(), comch_server, recv_event_cb);
}

doca_error_t doca_comch_server_event_connection_status_changed_register(
    doca_comch_server* comch_server, doca_comch_event_connection_status_changed_cb_t connect_event_cb,
    doca_comch_event_connection_status_changed_cb_t disconnect_event_cb) {
  const Call call;
  if (!call.has(comch_server)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  if (connect_event_cb == nullptr || disconnect_event_cb == nullptr) {
    return call.invalid("both callbacks must be given; they may be the same function");
  }
  return call.run([&] {
    comch_server->engine().set_connection_changed(connected, disconnected);
    comch_server->connected = connect_event_cb;
    comch_server->disconnected = disconnect_event_cb;
  });
}

doca_error_t doca_comch_server_event_consumer_register(doca_comch_server* comch_server,
                                                       doca_comch_event_consumer_cb_t new_consumer_event_cb,
                                                       doca_comch_event_consumer_cb_t expired_consumer_event_cb) {
  return capi::register_consumers(Call(), comch_server, new_consumer_event_cb, expired_consumer_event_cb);
}

doca_error_t doca_comch_server_task_send_set_conf(doca_comch_server* comch_server,
                                                  doca_comch_task_send_completion_cb_t task_completion_cb,
                                                  doca_comch_task_send_completion_cb_t task_error_cb,
                                                  std::uint32_t num_send_tasks) {
  return capi::configure_send(Call(), comch_server, task_completion_cb, task_error_cb, num_send_tasks);
}

doca_error_t doca_comch_server_task_send_alloc_init(doca_comch_server* comch_server, doca_comch_connection* connection,
                                                    const void* msg, std::uint32_t len, doca_comch_task_send** task) {
  return capi::take_send(comch_server, connection, msg, len, task);
}

doca_error_t doca_comch_server_disconnect(doca_comch_server* comch_server, doca_comch_connection* connection) {
  const Call call;
  if (!call.has(comch_server, connection)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.run([&] { comch_server->engine().disconnect(*connection->connection); });
}
