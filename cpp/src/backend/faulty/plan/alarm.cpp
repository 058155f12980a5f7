#include "backend/faulty/plan/alarm.hpp"

#include "pydoca/status.hpp"

#include "detail/concat.hpp"
#include "detail/system_reason.hpp"

#include <cerrno>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <utility>

namespace pydoca::faulty {

Alarm::Alarm(int inner)
    : inner_(inner), doorbell_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)), all_(::epoll_create1(EPOLL_CLOEXEC)) {
  watch(timer_.fd(), EPOLLIN);
  watch(doorbell_.get(), EPOLLIN);
  if (inner >= 0) {
    watch(inner, EPOLLIN);
    inner_events_ = EPOLLIN;
  }
}

void Alarm::watch(int fd, std::uint32_t events) {
  epoll_event event{.events = events, .data = {.fd = fd}};
  if (::epoll_ctl(all_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
    throw Error(Status::operating_system,
                detail::concat("faults: cannot create an alarm: ", detail::system_reason(errno)));
  }
}

void Alarm::set(std::uint64_t at) noexcept {
  timer_.set(at);
  is_set_ = true;
}

void Alarm::ring() const noexcept {
  const std::uint64_t one = 1;
  static_cast<void>(!::write(doorbell_.get(), &one, sizeof one));
}

void Alarm::calm() noexcept {
  if (std::exchange(is_set_, false)) {
    timer_.clear();
  }
  std::uint64_t rung = 0;
  static_cast<void>(!::read(doorbell_.get(), &rung, sizeof rung));
}

void Alarm::expect_room(bool expected) noexcept {
  expects_room_ = expected;
  watch_inner();
}

void Alarm::expect_messages(bool expected) noexcept {
  expects_messages_ = expected;
  watch_inner();
}

/// A descriptor that nothing is expected of leaves the set: the end of a peer would be reported without an end.
void Alarm::watch_inner() noexcept {
  const std::uint32_t events = (expects_messages_ ? static_cast<std::uint32_t>(EPOLLIN) : 0U) |
                               (expects_room_ ? static_cast<std::uint32_t>(EPOLLOUT) : 0U);
  if (inner_ < 0 || events == inner_events_) {
    return;
  }
  epoll_event event{.events = events, .data = {.fd = inner_}};
  const int change = inner_events_ == 0 ? EPOLL_CTL_ADD : (events == 0 ? EPOLL_CTL_DEL : EPOLL_CTL_MOD);
  ::epoll_ctl(all_.get(), change, inner_, &event);
  inner_events_ = events;
}

}  // namespace pydoca::faulty
