#include "pydoca/rdma_connect.hpp"

#include "pydoca/progress_engine.hpp"

#include "detail/concat.hpp"
#include "library/rdma/rdma_connection.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace pydoca {

namespace library {

class RdmaConnect final : public pydoca::RdmaConnect, public RdmaAttempt {
 public:
  RdmaConnect(std::shared_ptr<pydoca::RdmaConnection> connection, std::span<const std::byte> details,
              std::shared_ptr<backend::ImportAnswer> answer, std::chrono::nanoseconds limit);
  ~RdmaConnect() override;

  void take() override;
  void connection_ended() noexcept override { fail(Status::not_connected, "connect: the connection has ended"); }

 private:
  const std::shared_ptr<pydoca::RdmaConnection> connection_;
  const std::vector<std::byte> details_;
};

}  // namespace library

namespace {

using detail::concat;

/// The context may have stopped, and the connection ended, since begin().
library::RdmaConnection& require_connectable(RdmaConnection& connection) {
  if (connection.rdma() == nullptr) {
    throw Error(Status::not_connected, concat("connect: connection ", connection.id(), " has ended; export another"));
  }
  library::RdmaConnection& own = library::of(connection);
  own.owner().require_running("connect");
  own.require_exported();
  return own;
}

/// Names the error as Rdma::connect() does, except for what this side lacks, or has ended.
[[noreturn]] void refuse_peer(const Error& error) {
  constexpr std::array own{Status::no_memory, Status::operating_system, Status::shutdown};
  const bool is_own = std::ranges::find(own, error.status()) != own.end();
  throw Error(is_own ? error.status() : Status::connection_aborted, concat("connect: ", error.what()));
}

}  // namespace

library::RdmaConnect::RdmaConnect(std::shared_ptr<pydoca::RdmaConnection> connection,
                                  std::span<const std::byte> details, std::shared_ptr<backend::ImportAnswer> answer,
                                  std::chrono::nanoseconds limit)
    : pydoca::RdmaConnect(library::of(*connection).owner().progress_engine(), std::move(answer), limit),
      connection_(std::move(connection)),
      details_(details.begin(), details.end()) {
  library::of(*connection_).attempts_.push_back(this);
}

library::RdmaConnect::~RdmaConnect() { std::erase(library::of(*connection_).attempts_, this); }

std::unique_ptr<RdmaConnect> RdmaConnect::begin(std::shared_ptr<RdmaConnection> connection,
                                                std::span<const std::byte> details, std::chrono::nanoseconds limit) {
  if (connection == nullptr) {
    throw Error(Status::invalid_value, "connect: the connection is null");
  }
  auto answer = require_connectable(*connection).queue_pair_->ask_peer(details);
  return std::make_unique<library::RdmaConnect>(std::move(connection), details, std::move(answer), limit);
}

void library::RdmaConnect::take() {
  conclude();
  library::RdmaConnection& connection = require_connectable(*connection_);  // first: the peer is not to blame for that
  std::shared_ptr<backend::ImportAnswer> answer;
  try {
    answer = take_answer();
  } catch (const Error& error) {
    refuse_peer(error);
  }
  connection.connect(details_, answer);
}

}  // namespace pydoca
