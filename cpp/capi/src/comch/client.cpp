#include "comch/endpoint.hpp"

using namespace pydoca;
using capi::Call;

namespace {

using Link = doca_comch_connection;

Link& link_of(const doca_comch_client& client) {
  Link& link = *client.link;
  const bool ends = client.context->state() == ContextState::stopping && link.connection != nullptr;
  if (!ends) {
    const std::shared_ptr<comch::Connection>& connection = client.engine().connection();
    if (link.connection != connection) {
      capi::bind(link, *connection);
    }
  }
  return link;
}

}  // namespace

doca_error_t doca_comch_client_create(doca_dev* dev, const char* name, doca_comch_client** comch_client) {
  const Call call;
  if (!call.has(dev, name, comch_client)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.run([&] {
    auto context = comch::Client::create(dev->device, name);
    Link* const link = capi::Slab<Link>::make();
    try {
      auto* const client = capi::make_context<doca_comch_client>(std::move(context));
      client->dev = dev;
      client->link = link;
      *comch_client = client;
    } catch (...) {
      capi::Slab<Link>::end(*link);
      throw;
    }
  });
}

doca_error_t doca_comch_client_destroy(doca_comch_client* comch_client) {
  const Call call;
  if (!call.has(comch_client)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.run([&] {
    Link& link = *comch_client->link;
    capi::end_context(*comch_client);
    capi::Slab<Link>::end(link);
  });
}

doca_ctx* doca_comch_client_as_ctx(doca_comch_client* comch_client) { return capi::as_ctx(Call(), comch_client); }

doca_error_t doca_comch_client_set_max_msg_size(doca_comch_client* comch_client, std::uint32_t size) {
  return capi::set(Call(), comch_client, size, &comch::Endpoint::set_max_msg_size);
}

doca_error_t doca_comch_client_get_max_msg_size(const doca_comch_client* comch_client, std::uint32_t* size) {
  return capi::get(Call(), comch_client, size, &comch::Endpoint::max_msg_size);
}

doca_error_t doca_comch_client_set_recv_queue_size(doca_comch_client* comch_client, std::uint32_t size) {
  return capi::set(Call(), comch_client, size, &comch::Endpoint::set_recv_queue_size);
}

doca_error_t doca_comch_client_get_recv_queue_size(const doca_comch_client* comch_client, std::uint32_t* size) {
  return capi::get(Call(), comch_client, size, &comch::Endpoint::recv_queue_size);
}

doca_error_t doca_comch_client_get_device(const doca_comch_client* comch_client, doca_dev** dev) {
  return capi::get(Call(), comch_client, dev, &doca_comch_client::dev);
}

doca_error_t doca_comch_client_event_msg_recv_register(doca_comch_client* comch_client,
                                                       doca_comch_event_msg_recv_cb_t recv_event_cb) {
  return capi::register_messages(Call(), comch_client, recv_event_cb);
}

doca_error_t doca_comch_client_event_consumer_register(doca_comch_client* comch_client,
                                                       doca_comch_event_consumer_cb_t new_consumer_event_cb,
                                                       doca_comch_event_consumer_cb_t expired_consumer_event_cb) {
  return capi::register_consumers(Call(), comch_client, new_consumer_event_cb, expired_consumer_event_cb);
}

doca_error_t doca_comch_client_task_send_set_conf(doca_comch_client* comch_client,
                                                  doca_comch_task_send_completion_cb_t task_completion_cb,
                                                  doca_comch_task_send_completion_cb_t task_error_cb,
                                                  std::uint32_t num_send_tasks) {
  return capi::configure_send(Call(), comch_client, task_completion_cb, task_error_cb, num_send_tasks);
}

doca_error_t doca_comch_client_task_send_alloc_init(doca_comch_client* comch_client, doca_comch_connection* connection,
                                                    const void* msg, std::uint32_t len, doca_comch_task_send** task) {
  return capi::take_send(comch_client, connection, msg, len, task);
}

doca_error_t doca_comch_client_get_connection(const doca_comch_client* comch_client,
                                              doca_comch_connection** connection) {
  const Call call;
  if (!call.has(comch_client, connection)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.run([&] { *connection = &link_of(*comch_client); });
}
