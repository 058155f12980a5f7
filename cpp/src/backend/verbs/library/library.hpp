#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <string>

namespace pydoca::verbs {

/// What to install for it.
inline constexpr const char* rdma_core_packages =
    "rdma-core's libraries (Debian/Ubuntu: apt-get install libibverbs1 librdmacm1 ibverbs-providers)";

/// libibverbs, reached at run time and never linked, so that one build runs with and without it. These are the
/// functions that the library exports; posting, polling and arming go through a context's own table (ibv_post_send
/// ...).
struct Library {
  std::string reason;  ///< why it cannot be used; empty: it can

  decltype(&::ibv_fork_init) fork_init = nullptr;
  decltype(&::ibv_is_fork_initialized) is_fork_initialized = nullptr;  ///< null before rdma-core 35
  decltype(&::ibv_get_device_list) get_device_list = nullptr;
  decltype(&::ibv_free_device_list) free_device_list = nullptr;
  decltype(&::ibv_get_device_guid) get_device_guid = nullptr;
  decltype(&::ibv_open_device) open_device = nullptr;
  decltype(&::ibv_close_device) close_device = nullptr;
  decltype(&::ibv_query_device) query_device = nullptr;
  decltype(&::ibv_query_gid) query_gid = nullptr;
  decltype(&::ibv_get_async_event) get_async_event = nullptr;
  decltype(&::ibv_ack_async_event) ack_async_event = nullptr;
  decltype(&::ibv_alloc_pd) alloc_pd = nullptr;
  decltype(&::ibv_dealloc_pd) dealloc_pd = nullptr;
  decltype(&::ibv_reg_mr) reg_mr = nullptr;
  decltype(&::ibv_reg_mr_iova2) reg_mr_iova2 = nullptr;  ///< null before rdma-core 28
  decltype(&::ibv_dereg_mr) dereg_mr = nullptr;
  decltype(&::ibv_create_comp_channel) create_comp_channel = nullptr;
  decltype(&::ibv_destroy_comp_channel) destroy_comp_channel = nullptr;
  decltype(&::ibv_create_cq) create_cq = nullptr;
  decltype(&::ibv_destroy_cq) destroy_cq = nullptr;
  decltype(&::ibv_get_cq_event) get_cq_event = nullptr;
  decltype(&::ibv_ack_cq_events) ack_cq_events = nullptr;
  decltype(&::ibv_create_srq) create_srq = nullptr;
  decltype(&::ibv_destroy_srq) destroy_srq = nullptr;
  decltype(&::ibv_create_qp) create_qp = nullptr;
  decltype(&::ibv_modify_qp) modify_qp = nullptr;
  decltype(&::ibv_query_qp) query_qp = nullptr;
  decltype(&::ibv_destroy_qp) destroy_qp = nullptr;
  decltype(&::ibv_wc_status_str) wc_status_str = nullptr;

  /// ibv_query_port(), whose inline form in the header would link to the library.
  int query_port(ibv_context* context, std::uint8_t port, ibv_port_attr* attributes) const noexcept;

 private:
  friend const Library& library();
  Library();

  decltype(&::ibv_query_port) query_port_compat_ = nullptr;
};

/// Loaded at the first call, and made ready for fork.
const Library& library();

}  // namespace pydoca::verbs
