#include "rdma/rdma.hpp"

#include <new>

using namespace pydoca;
using capi::Call;

namespace {

using capi::ConnectionCallbacks;

void requested(RdmaConnection& connection, std::uint64_t ctx_user_data) noexcept {
  auto& rdma = capi::object_of<doca_rdma>(*connection.rdma());
  doca_rdma_connection* added = nullptr;
  try {
    added = &capi::add_connection(rdma, doca_data{}, [&] { return connection.shared_from_this(); });
  } catch (const std::bad_alloc&) {
    connection.reject();
    return;
  }
  rdma.changes.requested(added, capi::as_data(ctx_user_data));
}

template <ConnectionCallbacks::Changed ConnectionCallbacks::* change>
void changed(RdmaConnection& connection, std::uint64_t connection_user_data, std::uint64_t ctx_user_data) noexcept {
  const ConnectionCallbacks& callbacks = capi::object_of<const doca_rdma>(*connection.rdma()).changes;
  if (callbacks.*change != nullptr) {
    auto* const object = static_cast<doca_rdma_connection*>(capi::pointer_to(connection_user_data));
    (callbacks.*change)(object, object->user_data, capi::as_data(ctx_user_data));
  }
}

doca_error_t refuse_processor(const Call& call, const doca_rdma* rdma, const void* argument) noexcept {
  if (!call.has(rdma, argument)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.refuse(Status::not_supported, "the data path of a program in C is on the CPU");
}

}  // namespace

doca_error_t doca_rdma_create(doca_dev* dev, doca_rdma** rdma) { return capi::create(Call(), dev, rdma, Rdma::create); }

doca_error_t doca_rdma_destroy(doca_rdma* rdma) { return capi::destroy(Call(), rdma); }

doca_ctx* doca_rdma_as_ctx(doca_rdma* rdma) { return capi::as_ctx(Call(), rdma); }

doca_error_t doca_rdma_set_connection_state_callbacks(
    doca_rdma* rdma, doca_rdma_connection_request_cb_t doca_rdma_connect_request_cb,
    doca_rdma_connection_established_cb_t doca_rdma_connect_established_cb,
    doca_rdma_connection_failure_cb_t doca_rdma_connect_failure_cb,
    doca_rdma_connection_disconnection_cb_t doca_rdma_disconnect_cb) {
  const Call call;
  if (!call.has(rdma)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.run([&] {
    Rdma::ConnectionRequested on_request = nullptr;
    if (doca_rdma_connect_request_cb != nullptr) {
      on_request = requested;
    }
    rdma->engine().set_connection_state_callbacks(on_request, changed<&ConnectionCallbacks::established>,
                                                  changed<&ConnectionCallbacks::failed>,
                                                  changed<&ConnectionCallbacks::disconnected>);
    rdma->changes = {doca_rdma_connect_request_cb, doca_rdma_connect_established_cb, doca_rdma_connect_failure_cb,
                     doca_rdma_disconnect_cb};
  });
}

doca_error_t doca_rdma_get_dpa_handle(doca_rdma* rdma, doca_dpa_dev_rdma_t* dpa_rdma) {
  return refuse_processor(Call(), rdma, dpa_rdma);
}

doca_error_t doca_rdma_get_gpu_handle(doca_rdma* rdma, doca_gpu_dev_rdma** gpu_rdma) {
  return refuse_processor(Call(), rdma, static_cast<const void*>(gpu_rdma));
}

doca_error_t doca_rdma_dpa_completion_attach(doca_rdma* rdma, doca_dpa_completion* dpa_comp) {
  return refuse_processor(Call(), rdma, dpa_comp);
}
