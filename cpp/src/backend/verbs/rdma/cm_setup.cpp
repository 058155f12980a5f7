#include "backend/verbs/rdma/cm_setup.hpp"

#include "backend/verbs/library/failure.hpp"
#include "backend/verbs/queue/queue_pair_attributes.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace pydoca::verbs {

namespace {

/// Sets a queue pair up as RDMA-CM says, except for what the context's settings say.
void set_up(ibv_qp& pair, const CmLink& link, const RdmaShared& shared, ibv_qp_state state) {
  ibv_qp_attr attributes{};
  attributes.qp_state = state;
  int mask = 0;
  if (cm_library().init_qp_attr(link.id.get(), &attributes, &mask) != 0) {
    fail(errno, "connect: ask how to set the queue pair up");
  }
  const auto limit = [&](std::uint8_t value) { return value == 0 ? value : max_reads(shared, value); };
  attributes.qp_access_flags = static_cast<unsigned>(shared.settings().access);
  attributes.min_rnr_timer = receiver_not_ready_timer;
  attributes.rnr_retry = shared.settings().rnr_retry_count;
  attributes.retry_cnt = max_retries;
  attributes.max_rd_atomic = limit(attributes.max_rd_atomic);
  attributes.max_dest_rd_atomic = limit(attributes.max_dest_rd_atomic);
  if (const int error = library().modify_qp(&pair, &attributes, mask); error != 0) {
    fail(error, "connect: set the queue pair up");
  }
}

rdma_conn_param parameters_for(const ibv_qp& pair, const CmLink& link, const RdmaShared& shared,
                               std::span<const std::byte> private_data) {
  rdma_conn_param parameters{};
  parameters.private_data = private_data.data();
  parameters.private_data_len = static_cast<std::uint8_t>(private_data.size());
  parameters.responder_resources = link.responder_resources;
  parameters.initiator_depth = link.initiator_depth;
  parameters.flow_control = 1;
  parameters.retry_count = max_retries;
  parameters.rnr_retry_count = shared.settings().rnr_retry_count;
  parameters.srq = shared.receives() != nullptr ? 1 : 0;
  parameters.qp_num = pair.qp_num;
  return parameters;
}

}  // namespace

std::uint8_t max_reads(const RdmaShared& shared, std::uint8_t wanted) noexcept {
  const int limit = shared.place().adapter().attributes().max_qp_rd_atom;
  return static_cast<std::uint8_t>(std::clamp(limit, 1, static_cast<int>(wanted)));
}

void require_size(std::span<const std::byte> private_data, std::size_t most, std::string_view what) {
  if (private_data.size() > most) {
    throw Error(Status::invalid_value, detail::concat(what, ": ", private_data.size(),
                                                      " bytes of private data; RDMA-CM carries up to ", most));
  }
}

bool send_request(ibv_qp& pair, const CmLink& link, const RdmaShared& shared) {
  set_up(pair, link, shared, IBV_QPS_INIT);
  const std::span data(link.request_data);
  rdma_conn_param parameters = parameters_for(pair, link, shared, data.first(link.request_data_len));
  return cm_library().connect(link.id.get(), &parameters) == 0;
}

void accept_request(ibv_qp& pair, const CmLink& link, const RdmaShared& shared,
                    std::span<const std::byte> private_data) {
  require_size(private_data, CmLink::max_answer_data, "accept a connection");
  try {
    set_up(pair, link, shared, IBV_QPS_INIT);
    set_up(pair, link, shared, IBV_QPS_RTR);
    set_up(pair, link, shared, IBV_QPS_RTS);
  } catch (const Error& error) {
    throw Error(Status::connection_aborted, detail::concat("accept a connection: the peer has gone: ", error.what()));
  }
  rdma_conn_param parameters = parameters_for(pair, link, shared, private_data);
  if (cm_library().accept(link.id.get(), &parameters) != 0) {
    throw Error(Status::connection_aborted,
                detail::concat("accept a connection: the peer has gone: ", std::strerror(errno)));
  }
}

bool confirm_answer(ibv_qp& pair, const CmLink& link, const RdmaShared& shared) {
  set_up(pair, link, shared, IBV_QPS_RTR);
  set_up(pair, link, shared, IBV_QPS_RTS);
  return cm_library().establish(link.id.get()) == 0;
}

}  // namespace pydoca::verbs
