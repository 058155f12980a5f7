#include "backend/verbs/queue/pair.hpp"

#include "backend/verbs/library/failure.hpp"
#include "backend/verbs/queue/queue_pair_attributes.hpp"
#include "detail/system/random.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>

namespace pydoca::verbs {

namespace {

/// The time-out of an answer is 4.096 us * 2^17 = 0.5 s, so a peer also has four seconds to connect before it counts as
/// lost.
constexpr std::uint8_t answer_timeout = 17;

void modify(ibv_qp& pair, ibv_qp_attr attributes, int mask, const char* what) {
  if (const int error = library().modify_qp(&pair, &attributes, mask | IBV_QP_STATE); error != 0) {
    fail(error, "connect: ", what);
  }
}

ibv_ah_attr path_to(const PairBlob& peer, bool is_ethernet, const PairSettings& settings) {
  ibv_ah_attr path{};
  path.dlid = peer.lid;
  path.sl = settings.service_level;
  path.port_num = the_port;
  if (is_ethernet) {
    path.is_global = 1;
    path.grh.dgid = std::bit_cast<ibv_gid>(peer.gid);
    path.grh.sgid_index = static_cast<std::uint8_t>(settings.gid_index);
    path.grh.hop_limit = 64;
  }
  return path;
}

}  // namespace

PairBlob describe_pair(const Place& place, const ibv_qp& pair, const PairSettings& settings) {
  std::uint32_t first_packet = 0;
  detail::fill_with_random(std::as_writable_bytes(std::span(&first_packet, 1)));
  return {.number = pair.qp_num,
          .first_packet = first_packet & 0xffffffU,
          .lid = place.adapter().port().lid,
          .mtu = static_cast<std::uint8_t>(settings.mtu),
          .max_reads = static_cast<std::uint8_t>(std::clamp(place.adapter().attributes().max_qp_rd_atom, 1, 16)),
          .gid = place.adapter().gid(settings.gid_index)};
}

void initialize_pair(ibv_qp& pair, const PairSettings& settings) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = the_port;
  attributes.qp_access_flags = static_cast<unsigned>(settings.access);
  modify(pair, attributes, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, "initialise the queue pair");
}

void connect_pair(const Place& place, ibv_qp& pair, const PairBlob& self, const PairBlob& peer,
                  const PairSettings& settings) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTR;
  attributes.ah_attr = path_to(peer, place.adapter().is_ethernet(), settings);
  attributes.path_mtu = static_cast<ibv_mtu>(std::min(self.mtu, peer.mtu));
  attributes.dest_qp_num = peer.number;
  attributes.rq_psn = peer.first_packet;
  attributes.max_dest_rd_atomic = self.max_reads;
  attributes.min_rnr_timer = receiver_not_ready_timer;
  modify(
      pair, attributes,
      IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
      "find the way to the peer");
  attributes = {};
  attributes.qp_state = IBV_QPS_RTS;
  attributes.sq_psn = self.first_packet;
  attributes.timeout = answer_timeout;
  attributes.retry_cnt = max_retries;
  attributes.rnr_retry = settings.rnr_retry_count;
  attributes.max_rd_atomic = std::min(self.max_reads, peer.max_reads);
  modify(pair, attributes,
         IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC,
         "make the queue pair ready to send");
}

bool break_pair(ibv_qp& pair) noexcept {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_ERR;
  return library().modify_qp(&pair, &attributes, IBV_QP_STATE) == 0;
}

}  // namespace pydoca::verbs
