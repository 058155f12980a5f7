#include "backend/sim/time/modelled_channel.hpp"

#include "pydoca/log.hpp"
#include "pydoca/status.hpp"

#include "detail/concat.hpp"
#include "detail/system_reason.hpp"

#include <algorithm>
#include <cerrno>
#include <exception>
#include <sys/epoll.h>

namespace pydoca::sim {

namespace {

constexpr auto send_operation = TimedOperation::comch_send;

std::unique_ptr<backend::Channel> modelled(std::unique_ptr<backend::Channel> channel,
                                           const ChannelModel& model) noexcept {
  if (channel == nullptr) {
    return nullptr;
  }
  try {
    return std::make_unique<ModelledChannel>(std::move(channel), model);
  } catch (const std::exception& error) {
    log::engine(log::Level::error, "comch", error.what());
    return nullptr;  // the peer notices that it is gone
  }
}

}  // namespace

ModelledChannel::ModelledChannel(std::unique_ptr<backend::Channel> inner, ChannelModel model)
    : model_(std::move(model)),
      random_(model_.model->next_seed(send_operation)),
      due_(std::max<std::size_t>(model_.depth, 1)),
      inner_(std::move(inner)),
      all_(::epoll_create1(EPOLL_CLOEXEC)) {
  epoll_event event{.events = EPOLLIN, .data = {.fd = timer_.fd()}};
  if (!timer_ || !all_ || ::epoll_ctl(all_.get(), EPOLL_CTL_ADD, timer_.fd(), &event) != 0) {
    throw Error(Status::operating_system,
                detail::concat("comch: cannot watch the time of messages: ", detail::system_reason(errno)));
  }
  watch_inner();
}

/// Messages of a connection are in order, whatever their jitter.
std::uint64_t ModelledChannel::due_of(std::size_t length) noexcept {
  FunctionModel& model = *model_.model;
  const bool is_host = model_.side == Side::host;
  const Crossing crossing{.to_card = is_host ? length : 0, .to_host = is_host ? 0 : length};
  const Moments moments = moments_of(model.own_pace(send_operation), model.engine(send_operation), model.link(),
                                     detail::now(), length, crossing, random_);
  return last_due_ = std::max(last_due_, moments.due);
}

bool ModelledChannel::announce(std::size_t length) noexcept {
  if (due_.full()) {
    return false;
  }
  due_.push(due_of(length));
  return true;
}

void ModelledChannel::skip() noexcept {
  if (!due_.empty()) {
    due_.pop();
  }
}

Status ModelledChannel::send(std::span<const std::byte> message) noexcept {
  if (due_.empty()) {
    due_.push(due_of(message.size()));
  }
  const bool is_due = due_.front() <= detail::now();
  const Status status = is_due ? inner_->send(message) : Status::again;
  lacks_room_ = is_due && status == Status::again;
  if (status != Status::again) {
    due_.pop();
  }
  set_timer();
  watch_inner();
  return status;
}

/// A message that is due already waits for room, or for the caller's next call.
void ModelledChannel::set_timer() noexcept {
  const std::uint64_t next = due_.empty() || lacks_room_ ? detail::never : due_.front();
  if (std::exchange(set_to_, next) != next) {
    timer_.set(next);
  }
}

bool ModelledChannel::expect(bool messages, bool room) noexcept {
  expects_messages_ = messages;
  lacks_room_ = lacks_room_ && room;
  watch_inner();
  return true;
}

/// A descriptor that nothing is expected of leaves the set: the end of a peer would be reported without an end.
void ModelledChannel::watch_inner() noexcept {
  const std::uint32_t events = (expects_messages_ ? static_cast<std::uint32_t>(EPOLLIN) : 0U) |
                               (lacks_room_ ? static_cast<std::uint32_t>(EPOLLOUT) : 0U);
  if (events == inner_events_ || inner_->fd() < 0) {
    return;
  }
  epoll_event event{.events = events, .data = {.fd = inner_->fd()}};
  const int change = inner_events_ == 0 ? EPOLL_CTL_ADD : (events == 0 ? EPOLL_CTL_DEL : EPOLL_CTL_MOD);
  ::epoll_ctl(all_.get(), change, inner_->fd(), &event);
  inner_events_ = events;
}

std::unique_ptr<backend::Channel> ModelledListener::accept(bool admit) noexcept {
  return modelled(inner_->accept(admit), model_);
}

std::unique_ptr<backend::Channel> ModelledDialer::attempt() noexcept { return modelled(inner_->attempt(), model_); }

}  // namespace pydoca::sim
