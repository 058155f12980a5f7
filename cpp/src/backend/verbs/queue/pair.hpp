#pragma once

#include "backend/verbs/adapter/place.hpp"
#include "backend/verbs/memory/blob.hpp"

#include <cstdint>

namespace pydoca::verbs {

/// How often a packet without an answer is repeated. Verbs allow one more, but Soft-RoCE takes that for ever.
inline constexpr std::uint8_t max_retries = 6;

/// What a reliable connection is set up with, apart from the peer.
struct PairSettings {
  int access = 0;  ///< what the peer may do, in verbs' flags
  unsigned gid_index = 0;
  std::uint8_t service_level = 0;
  std::uint8_t rnr_retry_count = 7;
  ibv_mtu mtu = IBV_MTU_1024;
};

/// How this end of a connection is reached, with a random number for its first packet.
PairBlob describe_pair(const Place& place, const ibv_qp& pair, const PairSettings& settings);

/// RESET to INIT, where receives may be posted. Throws as the library fails.
void initialize_pair(ibv_qp& pair, const PairSettings& settings);

/// INIT to RTS, connected to peer. Throws as the library fails.
void connect_pair(const Place& place, ibv_qp& pair, const PairBlob& self, const PairBlob& peer,
                  const PairSettings& settings);

/// Brings the pair to the state in which the device flushes everything. False: the device did not change the state.
bool break_pair(ibv_qp& pair) noexcept;

}  // namespace pydoca::verbs
