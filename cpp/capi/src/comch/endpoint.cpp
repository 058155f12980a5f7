#include "comch/endpoint.hpp"

#include "library/capabilities.hpp"

#include <span>

using namespace pydoca;
using capi::Call;

namespace {

/// The handle of a connection that has a message. A client's is not bound before.
doca_comch_connection* handle_of(comch::Connection& connection, capi::ComchEndpoint& endpoint) noexcept {
  doca_comch_connection* const handle = capi::known(connection);
  if (handle != nullptr || endpoint.tag() != doca_comch_client::living) {
    return handle;
  }
  doca_comch_connection* const link = static_cast<doca_comch_client&>(endpoint).link;
  capi::bind(*link, connection);
  return link;
}

void message_received(comch::Connection& connection, std::span<const std::byte> message,
                      std::uint64_t /*user_data*/) noexcept {
  capi::ComchEndpoint& endpoint = capi::endpoint_of(connection);
  if (doca_comch_connection* const handle = handle_of(connection, endpoint)) {
    // The memory is the engine's own, and not const.
    auto* const bytes = reinterpret_cast<std::uint8_t*>(const_cast<std::byte*>(message.data()));
    endpoint.received(reinterpret_cast<doca_comch_event_msg_recv*>(&endpoint), bytes,
                      static_cast<std::uint32_t>(message.size()), handle);
  }
}

}  // namespace

void capi::receive(ComchEndpoint& endpoint, doca_comch_event_msg_recv_cb_t callback) {
  endpoint.endpoint().set_message_received(message_received);
  endpoint.received = callback;
}

doca_error_t doca_comch_cap_server_is_supported(const doca_devinfo* devinfo) {
  return capi::answer_support(Call(), devinfo, comch::Server::is_supported);
}

doca_error_t doca_comch_cap_client_is_supported(const doca_devinfo* devinfo) {
  return capi::answer_support(Call(), devinfo, comch::Client::is_supported);
}

using Limit = std::uint32_t (*)(const DeviceInfo&);

doca_error_t doca_comch_cap_get_max_name_len(const doca_devinfo* devinfo, std::uint32_t* max_name_len) {
  return capi::answer_limit(Call(), devinfo, max_name_len, comch::Endpoint::max_name_len);
}

doca_error_t doca_comch_cap_get_max_msg_size(const doca_devinfo* devinfo, std::uint32_t* max_msg_size) {
  return capi::answer_limit(Call(), devinfo, max_msg_size, static_cast<Limit>(comch::Endpoint::max_msg_size));
}

doca_error_t doca_comch_cap_get_max_recv_queue_size(const doca_devinfo* devinfo, std::uint32_t* max_recv_queue_size) {
  return capi::answer_limit(Call(), devinfo, max_recv_queue_size, comch::Endpoint::max_recv_queue_size);
}

doca_error_t doca_comch_cap_get_max_clients(const doca_devinfo* devinfo, std::uint32_t* max_clients) {
  return capi::answer_limit(Call(), devinfo, max_clients, comch::Endpoint::max_clients);
}

doca_error_t doca_comch_cap_get_max_send_tasks(const doca_devinfo* devinfo, std::uint32_t* max_send_tasks) {
  return capi::answer_limit(Call(), devinfo, max_send_tasks, comch::Endpoint::max_send_tasks);
}

doca_task* doca_comch_task_send_as_task(doca_comch_task_send* task) { return capi::as_task(task); }
