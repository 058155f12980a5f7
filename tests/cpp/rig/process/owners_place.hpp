#pragma once

#include "pydoca/sim.hpp"

#include "backend/sim/fabric/fabric.hpp"
#include "backend/sim/memory/blob.hpp"

#include <string_view>

namespace pydoca {

/// The socket at which the caller answers the importers of an export in its owner's place. The blob is changed: it
/// leads importers to this socket.
inline sim::ListeningSocket take_place_of_owner(sim::Blob& blob, int backlog = 8) {
  blob.socket_key.fill(std::byte{7});
  const std::string_view key(reinterpret_cast<const char*>(blob.socket_key.data()), blob.socket_key.size());
  return sim::listen_at(sim::fabric_address(sim::fabric(), "memory", key), backlog);
}

}  // namespace pydoca
