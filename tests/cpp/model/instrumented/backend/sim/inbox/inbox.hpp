#pragma once

#include "backend/sim/fabric/wakes.hpp"

namespace pydoca::sim {

/// Stands for the engine's backend/sim/inbox/inbox.hpp in the models: of a peer's inbox the owner of receives knows
/// only how to tell that peer.
class PeerInbox {
 public:
  void tell() noexcept { send_wake(wakes.fd()); }

  Wakes wakes;
};

}  // namespace pydoca::sim
