#include "pydoca/rdma_connect.hpp"

#include "pydoca/progress_engine.hpp"

#include "detail/concat.hpp"
#include "library/rdma/rdma_connection.hpp"

#include <utility>

namespace pydoca {

namespace {

using detail::concat;

/// The context may have stopped, and the connection ended, since begin().
library::RdmaConnection& require_connectable(RdmaConnection& connection) {
  if (connection.rdma() == nullptr) {
    throw Error(Status::invalid_value, concat("connect: connection ", connection.id(), " is closed"));
  }
  library::RdmaConnection& own = library::of(connection);
  own.owner().require_running("connect");
  own.require_exported();
  return own;
}

/// As Rdma::connect() names it. What this process lacks is another matter: its next try may succeed.
[[noreturn]] void refuse_peer(const Error& error) {
  const bool lacks = error.status() == Status::no_memory || error.status() == Status::operating_system;
  throw Error(lacks ? error.status() : Status::connection_aborted, concat("connect: ", error.what()));
}

}  // namespace

RdmaConnect::RdmaConnect(std::shared_ptr<RdmaConnection> connection, std::span<const std::byte> details,
                         std::shared_ptr<backend::ImportAnswer> answer, std::chrono::nanoseconds limit)
    : PendingImport(library::of(*connection).owner().progress_engine(), std::move(answer), limit),
      connection_(std::move(connection)),
      details_(details.begin(), details.end()) {}

std::unique_ptr<RdmaConnect> RdmaConnect::begin(std::shared_ptr<RdmaConnection> connection,
                                                std::span<const std::byte> details, std::chrono::nanoseconds limit) {
  if (connection == nullptr) {
    throw Error(Status::invalid_value, "connect: the connection is null");
  }
  auto answer = require_connectable(*connection).queue_pair_->ask_peer(details);
  return std::unique_ptr<RdmaConnect>(new RdmaConnect(std::move(connection), details, std::move(answer), limit));
}

void RdmaConnect::take() {
  conclude();
  std::shared_ptr<backend::ImportAnswer> answer;
  try {
    answer = take_answer();
  } catch (const Error& error) {
    refuse_peer(error);
  }
  require_connectable(*connection_).connect(details_, answer);
}

}  // namespace pydoca
