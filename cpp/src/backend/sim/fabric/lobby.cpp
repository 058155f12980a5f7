#include "backend/sim/fabric/lobby.hpp"

#include "pydoca/log.hpp"

#include "detail/concat.hpp"
#include "detail/system_reason.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

namespace pydoca::sim {

namespace {

/// Events of one next(): a storm of connections must not keep the caller's thread.
constexpr int max_events = 32;

/// After this the end of the connection does not reset it: a reset, which follows from messages that were not read,
/// would overtake what was said last.
void stop_reading(int fd) noexcept {
  ::shutdown(fd, SHUT_RD);
  char byte = 0;
  while (::recv(fd, &byte, 1, MSG_DONTWAIT) > 0) {
  }
}

bool has_message(int fd) noexcept {
  char byte = 0;
  return ::recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0 || (errno != EAGAIN && errno != EINTR);
}

}  // namespace

Lobby::Lobby(std::string_view name, TurnAway turn_away, std::chrono::milliseconds patience)
    : Lobby(name, std::move(turn_away), patience, detail::Fd(::epoll_create1(EPOLL_CLOEXEC)), -1) {}

Lobby::Lobby(std::string_view name, TurnAway turn_away, int epoll)
    : Lobby(name, std::move(turn_away), default_patience, {}, epoll) {}

Lobby::Lobby(std::string_view name, TurnAway turn_away, std::chrono::milliseconds patience, detail::Fd own_epoll,
             int epoll)
    : name_(name),
      turn_away_(std::move(turn_away)),
      patience_(patience),
      own_epoll_(std::move(own_epoll)),
      epoll_(own_epoll_ ? own_epoll_.get() : epoll),
      timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)) {
  if (epoll_ < 0 || !timer_) {
    throw Error(Status::operating_system,
                detail::concat(name, ": cannot wait for connections: ", detail::system_reason(errno)));
  }
  silent_.reserve(max_silent);
  watch(timer_.get());
  keep_reserve();
}

void Lobby::watch(int fd) {
  epoll_event event{.events = EPOLLIN, .data = {.fd = fd}};
  if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) != 0) {
    throw Error(Status::operating_system,
                detail::concat(name_, ": cannot watch a connection: ", detail::system_reason(errno)));
  }
}

/// Closing is not enough: while a forked child has a copy of fd, the set keeps it.
void Lobby::unwatch(int fd) noexcept { ::epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr); }

void Lobby::add(ListeningSocket listener) {
  listeners_.reserve(listeners_.size() + 1);
  watch(listener.fd.get());
  listeners_.push_back(std::move(listener));
}

void Lobby::remove(int listener) noexcept {
  const auto found = find(listener);
  if (found != listeners_.end()) {
    found->file = SocketFile();  // first: without its socket the file would count as left behind
    listeners_.erase(found);
  }
}

void Lobby::leave_to_parent() noexcept {
  for (ListeningSocket& listener : listeners_) {
    listener.fd.reset();
  }
  for (Silent& silent : silent_) {
    silent.fd.reset();
  }
  own_epoll_.reset();
  timer_.reset();
  reserve_.reset();
}

std::vector<ListeningSocket>::iterator Lobby::find(int listener) noexcept {
  return std::ranges::find_if(listeners_, [=](const ListeningSocket& socket) { return socket.fd.get() == listener; });
}

detail::Fd Lobby::next() noexcept {
  for (int i = 0; i < max_events; ++i) {
    epoll_event event{};
    if (::epoll_wait(epoll_, &event, 1, 0) != 1) {
      accepted_ = 0;
      return {};
    }
    if (detail::Fd peer = serve(event.data.fd)) {
      return peer;
    }
  }
  return {};
}

detail::Fd Lobby::serve(int ready) noexcept {
  if (ready == timer_.get()) {
    expire();
    return {};
  }
  if (find(ready) == listeners_.end()) {
    return take(ready);
  }
  detail::Fd peer = accept(ready);
  if (peer && !has_message(peer.get())) {
    keep(std::move(peer));
    return {};
  }
  return peer;
}

detail::Fd Lobby::accept(int listener) noexcept {
  Status status = Status::success;
  detail::Fd peer = accept_peer(listener, status);
  if (status != Status::again) {
    count_taken();
  }
  if (peer) {
    told_ = told_ && !silent_.empty();
  } else if (status == Status::full) {
    accept_with_reserve(listener);
  } else if (status == Status::not_permitted) {
    tell_once("a process of another user tried to connect and was turned away");
  }
  return peer;
}

/// Peers that are turned away fill the backlog as others do.
void Lobby::count_taken() noexcept {
  if (++accepted_ == backlog) {
    accepted_ = 0;
    overflowed_ = true;
  }
}

detail::Fd Lobby::take(int fd) noexcept {
  const auto found = std::ranges::find_if(silent_, [fd](const Silent& silent) { return silent.fd.get() == fd; });
  if (found == silent_.end()) {
    return {};
  }
  unwatch(fd);
  detail::Fd peer = std::move(found->fd);
  silent_.erase(found);
  return peer;
}

void Lobby::keep(detail::Fd peer) noexcept {
  if (silent_.size() == max_silent) {
    make_room();
  }
  try {
    watch(peer.get());
  } catch (const std::exception& error) {
    tell_once(error.what());
    dismiss(peer.get(), Status::full);
    return;
  }
  const pid_t process = peer_pid(peer.get());
  silent_.push_back({std::move(peer), process, Clock::now() + patience_});
  if (silent_.size() == 1) {
    set_timer();
  }
}

/// The process with the most silent peers; cheap when there are few processes.
pid_t Lobby::busiest() const noexcept {
  pid_t busiest = -1;
  std::ptrdiff_t most = 0;
  for (const Silent& one : silent_) {
    const auto count = one.process != busiest ? std::ranges::count(silent_, one.process, &Silent::process) : 0;
    if (count > most) {
      most = count;
      busiest = one.process;
    }
  }
  return busiest;
}

/// One process cannot drive out another's peers.
void Lobby::make_room() noexcept {
  const auto victim = std::ranges::find(silent_, busiest(), &Silent::process);
  tell_once("too many connections say nothing; turning away the oldest of the process that has most");
  unwatch(victim->fd.get());
  dismiss(victim->fd.get(), Status::full);
  silent_.erase(victim);
}

void Lobby::dismiss(int peer, Status why) noexcept {
  stop_reading(peer);
  turn_away_(peer, why);
  ::shutdown(peer, SHUT_RDWR);  // a forked child may have a copy, which would keep the connection
}

void Lobby::keep_reserve() noexcept { reserve_ = detail::Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }

/// Takes the peer and turns it away: else it would stay in the backlog, and the listener readable.
void Lobby::accept_with_reserve(int listener) noexcept {
  tell_once("this process is out of file descriptors and turns a peer away; raise its limit (ulimit -n)");
  reserve_.reset();
  Status status = Status::success;
  detail::Fd peer = accept_peer(listener, status);
  if (peer) {
    dismiss(peer.get(), Status::full);
  }
  peer.reset();
  keep_reserve();
}

void Lobby::expire() noexcept {
  std::uint64_t expirations = 0;
  static_cast<void>(!::read(timer_.get(), &expirations, sizeof expirations));
  const auto now = Clock::now();
  std::erase_if(silent_, [&](const Silent& silent) {
    const bool late = silent.end <= now;
    if (late) {
      tell_once("a peer connected and said nothing; its connection ends");
      unwatch(silent.fd.get());
      dismiss(silent.fd.get(), Status::time_out);
    }
    return late;
  });
  set_timer();
}

void Lobby::set_timer() noexcept {
  itimerspec when{};
  if (!silent_.empty()) {
    const auto left = std::max(silent_.front().end - Clock::now(), Clock::duration(1));
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
    when.it_value = {.tv_sec = seconds.count(), .tv_nsec = (left - seconds).count()};
  }
  ::timerfd_settime(timer_.get(), 0, &when, nullptr);
}

void Lobby::tell_once(std::string_view what) noexcept {
  if (!std::exchange(told_, true)) {
    log::engine(log::Level::warning, name_, what);
  }
}

}  // namespace pydoca::sim
