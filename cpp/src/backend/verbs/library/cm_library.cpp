#include "backend/verbs/library/cm_library.hpp"

#include "backend/verbs/library/library.hpp"
#include "detail/symbols.hpp"

namespace pydoca::verbs {

CmLibrary::CmLibrary() {
  constexpr const char* v0 = "RDMACM_1.0";
  constexpr const char* v2 = "RDMACM_1.2";
  detail::Symbols symbols("librdmacm.so.1", rdma_core_packages);
  symbols.require(create_event_channel, "rdma_create_event_channel", v0);
  symbols.require(destroy_event_channel, "rdma_destroy_event_channel", v0);
  symbols.require(create_id, "rdma_create_id", v0);
  symbols.require(destroy_id, "rdma_destroy_id", v0);
  symbols.require(bind_addr, "rdma_bind_addr", v0);
  symbols.require(listen, "rdma_listen", v0);
  symbols.require(resolve_addr, "rdma_resolve_addr", v0);
  symbols.require(resolve_route, "rdma_resolve_route", v0);
  symbols.require(connect, "rdma_connect", v0);
  symbols.require(accept, "rdma_accept", v0);
  symbols.require(reject, "rdma_reject", v0);
  symbols.require(establish, "rdma_establish", v2);
  symbols.require(disconnect, "rdma_disconnect", v0);
  symbols.require(init_qp_attr, "rdma_init_qp_attr", v2);
  symbols.require(get_cm_event, "rdma_get_cm_event", v0);
  symbols.require(ack_cm_event, "rdma_ack_cm_event", v0);
  symbols.require(set_option, "rdma_set_option", v0);
  reason = symbols.reason();
}

const CmLibrary& cm_library() {
  static const auto* const loaded = new CmLibrary;
  return *loaded;
}

}  // namespace pydoca::verbs
