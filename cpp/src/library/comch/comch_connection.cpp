#include "pydoca/comch.hpp"
#include "pydoca/log.hpp"
#include "pydoca/progress_engine.hpp"

#include "detail/concat.hpp"

#include <poll.h>
#include <sys/epoll.h>

namespace pydoca::comch {

Connection::Connection(Endpoint& endpoint, std::unique_ptr<backend::Channel> channel)
    : endpoint_(&endpoint), channel_(std::move(channel)) {}

Connection::~Connection() { end(phase_); }

Server* Connection::server() const noexcept { return dynamic_cast<Server*>(endpoint_); }
Client* Connection::client() const noexcept { return dynamic_cast<Client*>(endpoint_); }

void Connection::open() {
  ProgressEngine& engine = *endpoint_->progress_engine();
  if (channel_->fd() >= 0) {
    engine.watch(channel_->fd(), EPOLLIN, *this);
    watched_ = true;
    watched_events_ = EPOLLIN;
  }
  join(engine.ready_list());
  notify();
}

void Connection::update_info() {
  if (phase_ == Phase::establishing) {
    throw Error(Status::connection_inprogress, "update connection info: it is not yet connected; progress first");
  }
  if (phase_ == Phase::failed) {
    throw Error(Status::connection_aborted, "update connection info: it could not be connected");
  }
  snapshot_ = live_;
}

std::uint64_t Connection::counter(Counter counter) const {
  switch (counter) {
    case Counter::sent_messages:
      return snapshot_.sent_messages;
    case Counter::sent_bytes:
      return snapshot_.sent_bytes;
    case Counter::recv_messages:
      return snapshot_.recv_messages;
    case Counter::recv_bytes:
      return snapshot_.recv_bytes;
  }
  throw Error(Status::invalid_value,
              detail::concat("connection counter ", static_cast<std::uint32_t>(counter), " is not in 1..4"));
}

void Connection::pause() noexcept {
  paused_ = true;
  update_watch();
}

void Connection::resume() noexcept {
  if (paused_) {
    paused_ = false;
    update_watch();
    notify();
  }
}

void Connection::begin_close(Status status) noexcept {
  if (phase_ != Phase::connected) {
    return;
  }
  unwatch();
  channel_.reset();
  phase_ = Phase::closing;
  while (SendTask* task = waiting_.pop()) {
    endpoint_->done(*task, status);
  }
  notify();
}

void Connection::end(Phase phase) noexcept {
  unwatch();
  leave();
  channel_.reset();
  waiting_.clear();
  phase_ = phase;
  endpoint_ = nullptr;
}

bool Connection::progress_one(bool& more) noexcept {
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
  more = receive_one();
  return more;
}

bool Connection::establish(bool& more) noexcept {
  const Status status = channel_->establish();
  if (status == Status::again) {
    return false;
  }
  if (status == Status::success) {
    phase_ = Phase::connected;
    max_msg_size_ = channel_->max_msg_size();
    more = true;  // messages may be there already
    endpoint_->established(*this);
    return true;
  }
  const std::unique_ptr<backend::Channel> channel = std::move(channel_);
  Endpoint& endpoint = *endpoint_;
  if (watched_) {
    endpoint.progress_engine()->unwatch(channel->fd());
    watched_ = false;
  }
  phase_ = Phase::failed;
  endpoint.unestablished(*this, status, channel->refusal());
  return true;
}

bool Connection::receive_one() noexcept {
  std::size_t length = 0;
  const Status status = channel_->receive({endpoint_->buffer_.get(), max_msg_size_}, length);
  if (status == Status::again) {
    return false;
  }
  if (status != Status::success) {
    endpoint_->lost(*this, status);
    return true;
  }
  ++live_.recv_messages;
  live_.recv_bytes += length;
  endpoint_->message_received_(*this, {endpoint_->buffer_.get(), length}, endpoint_->user_data());
  return true;
}

void Connection::send(SendTask& task) noexcept {
  if (phase_ != Phase::connected) {
    // Not counted: else somebody who sends again from the callback would keep the end from being reported.
    task.endpoint().done(task, Status::connection_reset);
    return;
  }
  task.counted_ = true;
  ++outstanding_;
  const Status status = waiting_.empty() ? try_send(task) : Status::again;
  if (status == Status::again) {
    waiting_.push(task);
    update_watch();
  } else {
    endpoint_->done(task, status);
  }
}

Status Connection::try_send(const SendTask& task) noexcept {
  const bool removed = endpoint_->device()->backend().removed();
  const Status status = removed ? Status::driver : channel_->send(task.message_);
  if (status == Status::success) {
    ++live_.sent_messages;
    live_.sent_bytes += task.message_.size();
  }
  return status;
}

void Connection::send_waiting() noexcept {
  if (waiting_.empty()) {
    return;
  }
  while (!waiting_.empty()) {
    const Status status = try_send(*waiting_.front());
    if (status == Status::again) {
      return;
    }
    endpoint_->done(*waiting_.pop(), status);
  }
  update_watch();
}

void Connection::task_done() noexcept {
  --outstanding_;
  if (phase_ == Phase::closing && outstanding_ == 0) {
    notify();
  }
}

bool Connection::report_closed() noexcept {
  if (outstanding_ != 0) {
    return false;
  }
  phase_ = Phase::closed;
  leave();
  endpoint_->closed(*this);
  endpoint_ = nullptr;
  return true;
}

void Connection::update_watch() noexcept {
  const std::uint32_t events = (paused_ ? 0U : static_cast<std::uint32_t>(EPOLLIN)) |
                               (waiting_.empty() ? 0U : static_cast<std::uint32_t>(EPOLLOUT));
  if (watched_ && events != watched_events_) {
    endpoint_->progress_engine()->rewatch(channel_->fd(), events, *this);
    watched_events_ = events;
  }
}

void Connection::unwatch() noexcept {
  if (watched_) {
    endpoint_->progress_engine()->unwatch(channel_->fd());
    watched_ = false;
  }
}

/// epoll reports a hang-up whether asked to or not, and a paused connection does nothing about it. resume() finds it.
void Connection::unwatch_dead_peer() noexcept {
  pollfd peer{.fd = channel_->fd(), .events = 0, .revents = 0};
  if (::poll(&peer, 1, 0) > 0) {
    unwatch();
  }
}

}  // namespace pydoca::comch
