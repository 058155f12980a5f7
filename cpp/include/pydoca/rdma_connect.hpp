#pragma once

#include "pydoca/import.hpp"
#include "pydoca/rdma.hpp"

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>

#pragma GCC visibility push(default)

namespace pydoca {

/// Rdma::connect() in steps that the context's progress engine takes: for an event loop, which must not wait for the
/// peer. It is pydoca's own; DOCA has only the call that waits. The connection stays exported until take().
class RdmaConnect : public PendingImport {
 public:
  /// Asks the peer whose details() these are, and returns. After limit without its answer the attempt fails with
  /// connection_aborted. Throws invalid_value for null, not_connected for a connection that has ended, bad_state unless
  /// it is exported and its context runs, not_permitted in another thread than the engine's, operating_system, and
  /// those errors of Rdma::connect() that do not depend on the peer.
  static std::unique_ptr<RdmaConnect> begin(std::shared_ptr<RdmaConnection> connection,
                                            std::span<const std::byte> details,
                                            std::chrono::nanoseconds limit = default_limit);

  /// Connects, once: the connection takes tasks. Throws in_progress before is_over(), what begin() and Rdma::connect()
  /// throw, not_connected when the connection ended meanwhile, and shutdown when the engine was closed meanwhile.
  virtual void take() = 0;

 protected:
  using PendingImport::PendingImport;
};

}  // namespace pydoca

#pragma GCC visibility pop
