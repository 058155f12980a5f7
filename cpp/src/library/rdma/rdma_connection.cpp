#include "library/rdma/rdma_connection.hpp"

#include "pydoca/log.hpp"

#include "detail/concat.hpp"

#include <utility>

namespace pydoca {

namespace {

using detail::concat;

constexpr std::string_view name_of(RdmaConnection::State state) noexcept {
  constexpr std::string_view names[] = {"exported", "requested", "connecting", "established", "closing", "closed"};
  return names[static_cast<std::size_t>(state)];
}

}  // namespace

library::RdmaConnection::RdmaConnection(pydoca::Rdma& rdma, std::uint32_t id,
                                        std::unique_ptr<backend::QueuePair> queue_pair, State state)
    : pydoca::RdmaConnection(rdma, id, state), queue_pair_(std::move(queue_pair)) {
  queue_pair_->owner = this;
}

void library::RdmaConnection::refuse(std::string_view what, std::string_view needed) const {
  throw Error(Status::bad_state,
              concat(what, " connection ", id(), ": it is ", name_of(state_), "; it must be ", needed));
}

void library::RdmaConnection::log(std::string_view what) const noexcept {
  log::engine(log::Level::debug, rdma_->kind(), [&] {
    const std::string cause = failure_ == Status::success ? "" : concat(": ", failure_);
    return concat("connection ", id_, " on ", rdma_->device()->info().name(), " ", what, cause);
  });
}

RdmaAddress RdmaConnection::addr() const {
  const auto& address = library::of(*this).addr_;
  if (!address.has_value()) {
    throw Error(Status::invalid_value, concat("address of connection ", id_, ": it was not made by an address"));
  }
  return *address;
}

const std::vector<std::byte>& RdmaConnection::details() const noexcept { return library::of(*this).details_; }
const std::vector<std::byte>& RdmaConnection::private_data() const noexcept { return library::of(*this).private_data_; }

void library::RdmaConnection::require_exported() const {
  if (state_ != State::exported) {
    refuse("connect", "exported, and not connected yet");
  }
}

void library::RdmaConnection::connect(std::span<const std::byte> details,
                                      const std::shared_ptr<backend::ImportAnswer>& answer) {
  require_exported();
  queue_pair_->connect(details, answer);
  state_ = State::established;
  owner().request_report();
}

void RdmaConnection::accept(std::span<const std::byte> private_data) {
  library::RdmaConnection& own = library::of(*this);
  if (own.left_ == State::requested && failure_ != Status::success) {
    throw Error(Status::connection_aborted, concat("accept connection ", id_, ": the peer has gone"));
  }
  if (state_ != State::requested) {
    own.refuse("accept", "requested by a peer");
  }
  own.owner().progress_engine()->require_thread("accept a connection");
  try {
    own.queue_pair_->accept(private_data);
  } catch (const Error& error) {
    if (error.status() == Status::connection_aborted) {
      own.begin_close(Status::connection_aborted);  // its request can never be accepted
      throw Error(error.status(),
                  concat("accept connection ", id_, ": the peer has gone, or sent nonsense (", error.what(), ")"));
    }
    throw;
  }
  state_ = State::connecting;
}

void RdmaConnection::reject() {
  library::RdmaConnection& own = library::of(*this);
  if (state_ != State::requested) {
    own.refuse("reject", "requested by a peer");
  }
  own.owner().progress_engine()->require_thread("reject a connection");
  own.queue_pair_->reject();
  own.begin_close(Status::success);
}

void RdmaConnection::disconnect() {
  library::RdmaConnection& own = library::of(*this);
  if (state_ != State::exported && state_ != State::established && state_ != State::connecting) {
    own.refuse("disconnect", "exported, connecting or established");
  }
  own.owner().progress_engine()->require_thread("disconnect");
  if (state_ == State::exported) {
    own.give_up();
  } else {
    own.begin_close(Status::success);
  }
}

void library::RdmaConnection::give_up() {
  const auto self = shared_from_this();
  owner().erase(*this);
  left_ = state_;
  end();
}

bool library::RdmaConnection::was_established() const noexcept {
  return state_ == State::established || (state_ == State::closing && left_ == State::established);
}

void library::RdmaConnection::begin_close(Status why) noexcept {
  if (state_ == State::closing || state_ == State::closed) {
    return;
  }
  failure_ = why;
  left_ = std::exchange(state_, State::closing);
  queue_pair_->disconnect();
  owner().request_report();
}

void library::RdmaConnection::end() noexcept {
  queue_pair_.reset();
  state_ = State::closed;
  rdma_ = nullptr;
  for (RdmaAttempt* const attempt : attempts_) {
    attempt->connection_ended();
  }
}

}  // namespace pydoca
