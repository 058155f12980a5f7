#include "library/comch/comch_connection.hpp"

#include "pydoca/backend/device.hpp"
#include "pydoca/log.hpp"
#include "pydoca/progress_engine.hpp"

#include "detail/concat.hpp"
#include "detail/trace/recorder.hpp"
#include "library/comch/comch_connection_owner.hpp"

#include <exception>
#include <poll.h>
#include <sys/epoll.h>
#include <utility>

namespace pydoca::comch {

library::Connection::Connection(ConnectionOwner& owner, std::unique_ptr<backend::Channel> channel)
    : comch::Connection(owner.endpoint_), owner_(&owner), made_by_(owner), channel_(std::move(channel)) {}

library::Connection::~Connection() { end(phase_); }

Server* Connection::server() const noexcept { return dynamic_cast<Server*>(endpoint_); }
Client* Connection::client() const noexcept { return dynamic_cast<Client*>(endpoint_); }

std::shared_ptr<library::Connection> library::Connection::create(ConnectionOwner& owner,
                                                                 std::unique_ptr<backend::Channel> channel) noexcept {
  try {
    auto connection = std::make_shared<Connection>(owner, std::move(channel));
    connection->open();
    return connection;
  } catch (const std::exception& error) {
    log::engine(log::Level::error, owner.endpoint_.kind(), error.what());
    return nullptr;
  }
}

void library::Connection::open() {
  ProgressEngine& engine = *endpoint_->progress_engine();
  if (channel_->fd() >= 0) {
    engine.watch(channel_->fd(), EPOLLIN, *this);
    watched_ = true;
    watched_events_ = EPOLLIN;
  }
  join(engine.ready_list());
  await_others();
  notify();
}

bool Connection::is_connected() const noexcept {
  return library::of(*this).phase_ == library::Connection::Phase::connected;
}

void Connection::update_info() {
  library::Connection& own = library::of(*this);
  if (own.phase_ == library::Connection::Phase::establishing) {
    throw Error(Status::connection_inprogress, "update connection info: it is not yet connected; progress first");
  }
  if (own.phase_ == library::Connection::Phase::failed) {
    throw Error(Status::connection_aborted, "update connection info: it could not be connected");
  }
  own.snapshot_ = own.live_;
}

std::uint64_t Connection::counter(Counter counter) const {
  const library::Connection::Counters& counters = library::of(*this).snapshot_;
  switch (counter) {
    case Counter::sent_messages:
      return counters.sent_messages;
    case Counter::sent_bytes:
      return counters.sent_bytes;
    case Counter::recv_messages:
      return counters.recv_messages;
    case Counter::recv_bytes:
      return counters.recv_bytes;
  }
  throw Error(Status::invalid_value,
              detail::concat("connection counter ", static_cast<std::uint32_t>(counter), " is not in 1..4"));
}

void Connection::pause() noexcept { library::of(*this).set_paused(true); }
void Connection::resume() noexcept { library::of(*this).set_paused(false); }

void library::Connection::set_paused(bool paused) noexcept {
  if (std::exchange(paused_, paused) == paused) {
    return;
  }
  update_watch();
  if (!paused) {
    notify();
  }
}

void library::Connection::log(std::string_view what) const noexcept {
  log::engine(log::Level::debug, endpoint_->kind(), [&] {
    return detail::concat("\"", endpoint_->name(), "\" on ", endpoint_->device()->info().name(), ": ", what);
  });
}

void library::Connection::begin_close(Status status) noexcept {
  if (phase_ != Phase::connected) {
    return;
  }
  unwatch();
  channel_.reset();
  phase_ = Phase::closing;
  while (SendTask* task = waiting_.pop()) {
    task->failed_by_ = 0;
    owner_->done(*task, status);
  }
  notify();
}

void library::Connection::end(Phase phase) noexcept {
  unwatch();
  leave();
  channel_.reset();
  waiting_.clear();
  phase_ = phase;
  endpoint_ = nullptr;
  owner_ = nullptr;
}

bool library::Connection::progress_one(bool& more) noexcept {
  const auto self = shared_from_this();  // the endpoint may let go of it
  switch (phase_) {
    case Phase::establishing:
      return establish(more);
    case Phase::closing:
      return report_closed();
    case Phase::connected:
      break;
    default:
      return false;
  }
  send_waiting();
  if (paused_) {
    unwatch_dead_peer();
    return false;
  }
  return receive_one(more);
}

bool library::Connection::establish(bool& more) noexcept {
  const Status status = channel_->establish();
  if (status == Status::again) {
    return false;
  }
  if (status == Status::success) {
    phase_ = Phase::connected;
    max_msg_size_ = channel_->max_msg_size();
    more = true;  // messages may be there already
    log("connected");
    owner_->established(*this);
    return true;
  }
  const std::unique_ptr<backend::Channel> channel = std::move(channel_);
  ConnectionOwner& owner = *owner_;
  if (watched_) {
    owner.endpoint_.progress_engine()->unwatch(channel->fd());
    watched_ = false;
  }
  phase_ = Phase::failed;
  owner.unestablished(*this, status, channel->refusal());
  return true;
}

bool library::Connection::receive_one(bool& more) noexcept {
  std::size_t length = 0;
  const Status status = channel_->receive({owner_->buffer_.get(), max_msg_size_}, length);
  burst_.note(status == Status::success);
  if (status == Status::again) {
    return false;
  }
  if (status != Status::success) {
    owner_->lost(*this, status);
    return true;
  }
  more = burst_.goes_on();
  ++live_.recv_messages;
  live_.recv_bytes += length;
  if (detail::trace::is_recording()) [[unlikely]] {
    record(TraceEventKind::received, detail::trace::ticks(), live_.recv_messages, length);
  }
  owner_->buffer_[length] = std::byte{0};
  owner_->message_received_(*this, {owner_->buffer_.get(), length}, endpoint_->user_data());
  return true;
}

Status library::Connection::send(SendTask& task) noexcept {
  if (phase_ != Phase::connected) {
    // Not counted: a callback that sends again would keep the end from being reported.
    task.failed_by_ = 0;
    made_by_.done(task, Status::connection_reset);
    return Status::success;
  }
  task.counted_ = true;
  ++outstanding_;
  const Status status = waiting_.empty() ? try_send(task, task.message_) : Status::again;
  if (status != Status::again) {
    owner_->done(task, status);
    return Status::success;
  }
  return wait_for_turn(task);
}

Status library::Connection::wait_for_turn(SendTask& task) noexcept {
  if (!waiting_.empty() && !channel_->announce(task.message_.size())) {
    task.counted_ = false;
    --outstanding_;
    return Status::again;
  }
  task.keep(*owner_);
  waiting_.push(task);
  update_watch();
  return Status::success;
}

Status library::Connection::try_send(SendTask& task, std::span<const std::byte> message) noexcept {
  // The message cannot arrive before that.
  const std::uint64_t begin = detail::trace::is_recording() ? detail::trace::ticks() : 0;
  const bool removed = endpoint_->device()->backend().removed();
  const Status status = removed ? Status::driver : channel_->send(message);
  if (status == Status::success) {
    ++live_.sent_messages;
    live_.sent_bytes += message.size();
    endpoint_->progress_engine()->count_long_operation();
    if (begin != 0) [[unlikely]] {
      record(TraceEventKind::sent, begin, live_.sent_messages, message.size());
    }
    return status;
  }
  task.failed_by_ = status == Status::again ? 0 : channel_->failed_by();
  return status;
}

void library::Connection::record(TraceEventKind kind, std::uint64_t time, std::uint64_t number,
                                 std::uint64_t bytes) const noexcept {
  detail::trace::record(time, detail::trace::pack(kind, 0, 0, endpoint_->trace_name()), channel_->id(),
                        detail::trace::pack_pair(number, bytes));
}

void library::Connection::send_waiting() noexcept {
  if (waiting_.empty()) {
    return;
  }
  while (!waiting_.empty()) {
    const Status status = try_send(*waiting_.front(), waiting_.front()->kept());
    if (status == Status::again) {
      return;
    }
    owner_->done(*waiting_.pop(), status);
  }
  update_watch();
}

void library::Connection::task_done() noexcept {
  --outstanding_;
  if (phase_ == Phase::closing && outstanding_ == 0) {
    notify();
  }
}

bool library::Connection::report_closed() noexcept {
  if (outstanding_ != 0) {
    return false;
  }
  phase_ = Phase::closed;
  log("disconnected");
  leave();
  owner_->closed(*this);
  endpoint_ = nullptr;
  owner_ = nullptr;
  return true;
}

void library::Connection::update_watch() noexcept {
  const std::uint32_t events = (paused_ ? 0U : static_cast<std::uint32_t>(EPOLLIN)) |
                               (waiting_.empty() ? 0U : static_cast<std::uint32_t>(EPOLLOUT));
  if (watched_ && events != watched_events_) {
    if (!channel_->expect(!paused_, !waiting_.empty())) {
      endpoint_->progress_engine()->rewatch(channel_->fd(), events, *this);
    }
    watched_events_ = events;
  }
}

void library::Connection::unwatch() noexcept {
  if (watched_) {
    endpoint_->progress_engine()->unwatch(channel_->fd());
    watched_ = false;
  }
}

bool library::Connection::is_ending() const noexcept {
  if (phase_ != Phase::connected) {
    return phase_ == Phase::closing;
  }
  pollfd peer{.fd = channel_->fd(), .events = 0, .revents = 0};
  return !paused_ && ::poll(&peer, 1, 0) > 0 && (peer.revents & POLLHUP) != 0;
}

/// epoll reports a hang-up whether asked to or not, and a paused connection does nothing about it. resume() finds it.
void library::Connection::unwatch_dead_peer() noexcept {
  pollfd peer{.fd = channel_->fd(), .events = 0, .revents = 0};
  if (::poll(&peer, 1, 0) > 0) {
    unwatch();
  }
}

}  // namespace pydoca::comch
