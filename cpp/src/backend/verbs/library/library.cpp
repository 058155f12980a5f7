#include "backend/verbs/library/library.hpp"

#include "detail/concat.hpp"
#include "detail/symbols.hpp"

#include <cerrno>
#include <cstring>
#include <string>

namespace pydoca::verbs {

namespace {

/// Prepares for fork, so that registered memory stays usable; must be called before any memory is registered, except
/// where the kernel copies pinned pages at fork. Empty, or why it cannot.
std::string protect_from_fork(const Library& library) {
  // rdma-core 44 refuses a late call there as well, although nothing has to be prepared.
  if (library.is_fork_initialized != nullptr && library.is_fork_initialized() == IBV_FORK_UNNEEDED) {
    return {};
  }
  const int error = library.fork_init();
  if (error == 0) {
    return {};
  }
  return detail::concat("libibverbs cannot protect registered memory from fork: ", std::strerror(error),
                        error == EINVAL ? "; look for devices before the program registers memory by itself" : "");
}

}  // namespace

Library::Library() {
  constexpr const char* v0 = "IBVERBS_1.0";
  constexpr const char* v1 = "IBVERBS_1.1";
  detail::Symbols symbols("libibverbs.so.1", rdma_core_packages);
  symbols.require(fork_init, "ibv_fork_init", v1);
  symbols.take(is_fork_initialized, "ibv_is_fork_initialized", "IBVERBS_1.13");
  symbols.require(get_device_list, "ibv_get_device_list", v1);
  symbols.require(free_device_list, "ibv_free_device_list", v1);
  symbols.require(get_device_guid, "ibv_get_device_guid", v1);
  symbols.require(open_device, "ibv_open_device", v1);
  symbols.require(close_device, "ibv_close_device", v1);
  symbols.require(query_device, "ibv_query_device", v1);
  symbols.require(query_port_compat_, "ibv_query_port", v1);
  symbols.require(query_gid, "ibv_query_gid", v1);
  symbols.require(get_async_event, "ibv_get_async_event", v1);
  symbols.require(ack_async_event, "ibv_ack_async_event", v1);
  symbols.require(alloc_pd, "ibv_alloc_pd", v1);
  symbols.require(dealloc_pd, "ibv_dealloc_pd", v1);
  symbols.require(reg_mr, "ibv_reg_mr", v1);
  symbols.take(reg_mr_iova2, "ibv_reg_mr_iova2", "IBVERBS_1.8");
  symbols.require(dereg_mr, "ibv_dereg_mr", v1);
  symbols.require(create_comp_channel, "ibv_create_comp_channel", v0);
  symbols.require(destroy_comp_channel, "ibv_destroy_comp_channel", v0);
  symbols.require(create_cq, "ibv_create_cq", v1);
  symbols.require(destroy_cq, "ibv_destroy_cq", v1);
  symbols.require(get_cq_event, "ibv_get_cq_event", v1);
  symbols.require(ack_cq_events, "ibv_ack_cq_events", v1);
  symbols.require(create_srq, "ibv_create_srq", v1);
  symbols.require(destroy_srq, "ibv_destroy_srq", v1);
  symbols.require(create_qp, "ibv_create_qp", v1);
  symbols.require(modify_qp, "ibv_modify_qp", v1);
  symbols.require(query_qp, "ibv_query_qp", v1);
  symbols.require(destroy_qp, "ibv_destroy_qp", v1);
  symbols.require(wc_status_str, "ibv_wc_status_str", v1);
  reason = symbols.reason();
  if (reason.empty()) {
    reason = protect_from_fork(*this);
  }
}

int Library::query_port(ibv_context* context, std::uint8_t port, ibv_port_attr* attributes) const noexcept {
  if (verbs_context* const extended = verbs_get_ctx_op(context, query_port)) {
    return extended->query_port(context, port, attributes, sizeof *attributes);
  }
  *attributes = {};
  return query_port_compat_(context, port, reinterpret_cast<_compat_ibv_port_attr*>(attributes));
}

const Library& library() {
  static const auto* const loaded = new Library;  // never destroyed: devices may outlive static destructors
  return *loaded;
}

}  // namespace pydoca::verbs
