#include "pydoca/progress_engine.hpp"
#include "pydoca/rdma.hpp"

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

RdmaConnection::RdmaConnection(Rdma& rdma, std::uint32_t id, std::unique_ptr<backend::QueuePair> queue_pair,
                               State state)
    : rdma_(&rdma), id_(id), state_(state), queue_pair_(std::move(queue_pair)) {
  queue_pair_->owner = this;
}

RdmaConnection::~RdmaConnection() { end(); }

void RdmaConnection::refuse(std::string_view what) const {
  throw Error(Status::bad_state, concat(what, " connection ", id_, ": it is ", name_of(state_)));
}

RdmaAddress RdmaConnection::addr() const {
  if (!addr_.has_value()) {
    throw Error(Status::invalid_value, concat("address of connection ", id_, ": it was not made by an address"));
  }
  return *addr_;
}

void RdmaConnection::accept(std::span<const std::byte> private_data) {
  if (left_ == State::requested && failure_ != Status::success) {
    throw Error(Status::connection_aborted, concat("accept connection ", id_, ": the peer has gone"));
  }
  if (state_ != State::requested) {
    refuse("accept");
  }
  rdma_->require_thread("accept a connection");
  try {
    queue_pair_->accept(private_data);
  } catch (const Error& error) {
    if (error.status() == Status::connection_aborted) {
      begin_close(Status::connection_aborted);  // nobody is there to be rejected
      throw Error(error.status(), concat("accept connection ", id_, ": the peer has gone (", error.what(), ")"));
    }
    throw;
  }
  state_ = State::connecting;
}

void RdmaConnection::reject() {
  if (state_ != State::requested) {
    refuse("reject");
  }
  rdma_->require_thread("reject a connection");
  queue_pair_->reject();
  begin_close(Status::success);
}

void RdmaConnection::disconnect() {
  if (state_ != State::exported && state_ != State::established && state_ != State::connecting) {
    refuse("disconnect");
  }
  rdma_->require_thread("disconnect");
  if (state_ == State::exported) {
    give_up();
  } else {
    begin_close(Status::success);
  }
}

/// Of one that nobody was connected to: there is nothing to wait for.
void RdmaConnection::give_up() {
  const std::shared_ptr<RdmaConnection> self = shared_from_this();
  rdma_->erase(*this);
  left_ = state_;
  end();
}

bool RdmaConnection::was_established() const noexcept {
  return state_ == State::established || (state_ == State::closing && left_ == State::established);
}

void RdmaConnection::begin_close(Status why) noexcept {
  if (state_ == State::closing || state_ == State::closed) {
    return;
  }
  failure_ = why;
  left_ = std::exchange(state_, State::closing);
  queue_pair_->disconnect();
  rdma_->news();
}

void RdmaConnection::end() noexcept {
  queue_pair_.reset();
  state_ = State::closed;
  rdma_ = nullptr;
}

void RdmaConnection::tell_of_end() noexcept { rdma_->news(); }

}  // namespace pydoca
