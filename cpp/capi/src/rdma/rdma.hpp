#pragma once

#include "pydoca/rdma.hpp"
#include "pydoca/sync_event.hpp"

#include "base/convert.hpp"
#include "library/library.hpp"
#include "library/sync_event.hpp"

#include <cstddef>
#include <doca_rdma.h>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

struct doca_rdma_addr : pydoca::capi::Handle<"RDMA address"> {
  std::optional<pydoca::RdmaAddress> address;
  std::string text;
  bool is_of_connection = false;
};

/// The user data of the engine's connection is the address of this object.
struct doca_rdma_connection : pydoca::capi::Part<"RDMA connection"> {
  std::shared_ptr<pydoca::RdmaConnection> connection;
  doca_data user_data{};
  mutable pydoca::capi::Owned<doca_rdma_addr> addr;  ///< made when a program asks for it
};

namespace pydoca::capi {

/// What a C program wants to have called when its connections change.
struct ConnectionCallbacks {
  using Changed = void (*)(doca_rdma_connection*, doca_data connection_user_data, doca_data ctx_user_data);
  doca_rdma_connection_request_cb_t requested = nullptr;
  Changed established = nullptr;
  Changed failed = nullptr;
  Changed disconnected = nullptr;
};

}  // namespace pydoca::capi

struct doca_rdma
    : pydoca::capi::Library<"RDMA context", pydoca::Rdma, doca_rdma_task_receive, doca_rdma_task_send,
                            doca_rdma_task_send_imm, doca_rdma_task_read, doca_rdma_task_write,
                            doca_rdma_task_write_imm, doca_rdma_task_atomic_cmp_swp, doca_rdma_task_atomic_fetch_add,
                            doca_rdma_task_remote_net_sync_event_get, doca_rdma_task_remote_net_sync_event_notify_set,
                            doca_rdma_task_remote_net_sync_event_notify_add> {
  pydoca::capi::ConnectionCallbacks changes;
  std::vector<pydoca::capi::Owned<doca_rdma_connection>> connections;
  std::list<std::vector<std::byte>> details;  ///< what programs have pointers to
};

namespace pydoca::capi {

/// A new object for the connection that make() gives. Objects of connections whose end was reported make room for it.
template <class Make>
doca_rdma_connection& add_connection(doca_rdma& rdma, doca_data user_data, Make make) {
  std::erase_if(rdma.connections, [](const auto& kept) { return kept->connection->rdma() == nullptr; });
  rdma.connections.reserve(rdma.connections.size() + 1);
  Owned<doca_rdma_connection> made(Slab<doca_rdma_connection>::make());
  made->set_owner(rdma);
  made->user_data = user_data;
  made->connection = make();
  made->connection->set_user_data(address_of(made.get()));
  return *rdma.connections.emplace_back(std::move(made));
}

/// An object with the address. Throws std::bad_alloc.
Owned<doca_rdma_addr> make_address(const RdmaAddress& address);

/// The engine's connection of an object that is alive. The compiler learns that it is there, and asks no more.
inline RdmaConnection& engine_of(const doca_rdma_connection& connection) noexcept {
  RdmaConnection* const engine = connection.connection.get();
  if (engine == nullptr) {
    __builtin_unreachable();
  }
  return *engine;
}

/// Null for NULL, and for an object that is not alive.
inline std::shared_ptr<RdmaConnection> engine_connection(const doca_rdma_connection* connection) noexcept {
  return connection != nullptr && connection->is_alive() ? connection->connection : nullptr;
}
inline doca_rdma_connection* as_c(const std::shared_ptr<RdmaConnection>& connection) noexcept {
  return connection != nullptr ? static_cast<doca_rdma_connection*>(pointer_to(connection->user_data())) : nullptr;
}

/// Null for NULL, and for an object that is not alive.
inline std::shared_ptr<SyncEventRemoteNet> engine_event(const doca_sync_event_remote_net* event) noexcept {
  return event != nullptr && event->is_alive() ? event->event : nullptr;
}
inline doca_sync_event_remote_net* as_c(const std::shared_ptr<SyncEventRemoteNet>& event) noexcept {
  return event != nullptr ? static_cast<doca_sync_event_remote_net*>(event->face()) : nullptr;
}

}  // namespace pydoca::capi
