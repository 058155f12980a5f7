#pragma once

#include "pydoca/comch.hpp"

#include "base/convert.hpp"
#include "base/handle.hpp"
#include "library/library.hpp"

#include <doca_comch.h>
#include <memory>

namespace pydoca::capi {

/// What a server and a client have in common.
struct ComchEndpoint : doca_ctx {
  comch::Endpoint& endpoint() const noexcept { return static_cast<comch::Endpoint&>(*context); }
  comch::Endpoint& configured() const noexcept { return endpoint(); }

  CallbacksOf<doca_comch_task_send> callbacks;
  doca_comch_event_msg_recv_cb_t received = nullptr;
  doca_dev* dev = nullptr;
};

}  // namespace pydoca::capi

struct doca_comch_server : pydoca::capi::ContextHandle<"comch server", pydoca::capi::ComchEndpoint> {
  pydoca::comch::Server& engine() const noexcept { return static_cast<pydoca::comch::Server&>(*context); }

  doca_dev_rep* rep = nullptr;
  doca_comch_event_connection_status_changed_cb_t connected = nullptr;
  doca_comch_event_connection_status_changed_cb_t disconnected = nullptr;
};

struct doca_comch_client : pydoca::capi::ContextHandle<"comch client", pydoca::capi::ComchEndpoint> {
  pydoca::comch::Client& engine() const noexcept { return static_cast<pydoca::comch::Client&>(*context); }

  doca_comch_connection* link = nullptr;  ///< always there: a run takes it, so that a callback needs no memory
};

/// The user data of the engine's connection are its address. A server makes one for each client.
struct doca_comch_connection : pydoca::capi::Part<"comch connection"> {
  std::shared_ptr<pydoca::comch::Connection> connection;  ///< a client's: null before the first one
  doca_data user_data{};
};

namespace pydoca::capi {

inline ComchEndpoint& endpoint_of(const comch::Connection& connection) noexcept {
  return *static_cast<ComchEndpoint*>(ctx_of(*connection.endpoint()));
}

/// The engine's context that sends over a connection of endpoint: the connection's own, as far as it has one, which the
/// engine then need not compare.
inline comch::Endpoint& engine_of(const ComchEndpoint& endpoint, const comch::Connection& connection) noexcept {
  return connection.is_connected() ? *connection.endpoint() : endpoint.endpoint();
}

/// Null for a connection for which a server had no memory.
inline doca_comch_connection* known(const comch::Connection& connection) noexcept {
  return static_cast<doca_comch_connection*>(pointer_to(connection.user_data()));
}

/// Makes handle that of the connection.
void bind(doca_comch_connection& handle, comch::Connection& connection) noexcept;

/// Has the context call the program for each message. Throws bad_state.
void receive(ComchEndpoint& endpoint, doca_comch_event_msg_recv_cb_t callback);

}  // namespace pydoca::capi
