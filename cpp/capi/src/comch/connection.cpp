#include "base/call.hpp"
#include "base/convert.hpp"
#include "comch/comch.hpp"

using namespace pydoca;
using capi::Call;

void capi::bind(doca_comch_connection& handle, comch::Connection& connection) noexcept {
  handle.connection = connection.shared_from_this();
  handle.set_owner(endpoint_of(connection));
  handle.user_data = as_data(0);
  connection.set_user_data(address_of(&handle));
}

namespace {

/// The owner of the connection as an Object; null when it is of another kind.
template <class Object>
Object* owner_as(const Call& call, const doca_comch_connection* connection) noexcept {
  return call.has(connection) && connection->owner()->tag() == Object::living
             ? static_cast<Object*>(connection->owner())
             : nullptr;
}

}  // namespace

doca_error_t doca_comch_connection_set_user_data(doca_comch_connection* connection, doca_data user_data) {
  if (!Call().has(connection)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  connection->user_data = user_data;
  return DOCA_SUCCESS;
}

doca_data doca_comch_connection_get_user_data(const doca_comch_connection* connection) {
  return Call().has(connection) ? connection->user_data : capi::as_data(0);
}

doca_comch_server* doca_comch_server_get_server_ctx(const doca_comch_connection* connection) {
  return owner_as<doca_comch_server>(Call(), connection);
}

doca_comch_client* doca_comch_client_get_client_ctx(const doca_comch_connection* connection) {
  return owner_as<doca_comch_client>(Call(), connection);
}

doca_error_t doca_comch_connection_update_info(doca_comch_connection* connection) {
  const Call call;
  if (!call.has(connection)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.run([&] { connection->connection->update_info(); });
}

doca_error_t doca_comch_connection_get_counter(const doca_comch_connection* connection, doca_comch_counter counter,
                                               std::uint64_t* value) {
  const Call call;
  if (!call.has(connection, value)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.run([&] { *value = connection->connection->counter(capi::enumerator<comch::Counter>(counter)); });
}
