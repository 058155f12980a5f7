#pragma once

#include "pydoca/progress_engine.hpp"

#include "detail/fd.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <poll.h>
#include <span>
#include <stdexcept>
#include <sys/socket.h>
#include <vector>

namespace pydoca::crash {

using Message = std::vector<std::byte>;
inline constexpr std::chrono::seconds patience{30};  ///< for what a peer does; a hang ends the test then

/// A connection between two forked processes, which shows the end of either one. Made before the forks; each process
/// then keeps its end, or none.
class Link {
 public:
  Link() {
    std::array<int, 2> fds{-1, -1};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds.data()) != 0) {
      throw std::runtime_error("no socket for a link");
    }
    ends_ = {detail::Fd(fds[0]), detail::Fd(fds[1])};
  }

  enum class End : std::uint8_t { survivor = 0, victim = 1 };
  void keep(End end) {
    own_ = static_cast<std::size_t>(end);
    ends_[1 - own_].reset();
  }
  void close() { ends_ = {}; }
  int fd() const noexcept { return ends_[own_].get(); }

  /// A peer that is gone does not get it.
  void send(std::span<const std::byte> message) const {
    static_cast<void>(::send(fd(), message.data(), message.size(), MSG_NOSIGNAL));
  }
  /// Empty: the peer has gone. Throws when it says nothing.
  Message receive() const {
    pollfd handle{.fd = fd(), .events = POLLIN, .revents = 0};
    if (::poll(&handle, 1, static_cast<int>(std::chrono::milliseconds(patience).count())) != 1) {
      throw std::runtime_error("the other process says nothing");
    }
    return take(0);
  }
  bool is_gone() const {
    std::byte any{};
    return ::recv(fd(), &any, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
  }
  bool has_message() const {
    std::byte any{};
    return ::recv(fd(), &any, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
  }
  Message take(int flags = MSG_DONTWAIT) const {
    Message message(1024);
    const ssize_t length = ::recv(fd(), message.data(), message.size(), flags);
    message.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
    return message;
  }

 private:
  std::array<detail::Fd, 2> ends_;
  std::size_t own_ = 0;
};

/// Progresses until done(), and sleeps in between: on the engine's notification, and on the link as long as the other
/// process lives. A wake-up that is lost makes it throw.
inline void run_until(ProgressEngine& engine, const Link& link, const std::function<bool()>& done) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + patience;
  // Asked first: a process that ends after that wakes the poll.
  for (bool gone = link.is_gone(); !done(); gone = link.is_gone()) {
    if (engine.progress() != 0) {
      continue;
    }
    engine.request_notification();
    std::array<pollfd, 2> handles{{{.fd = engine.notification_handle(), .events = POLLIN, .revents = 0},
                                   {.fd = gone ? -1 : link.fd(), .events = POLLIN, .revents = 0}}};
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
    const int ready = left > 0 ? ::poll(handles.data(), handles.size(), static_cast<int>(left)) : 0;
    engine.clear_notification();
    if (ready == 0) {
      throw std::runtime_error("nothing happens any more");
    }
  }
}

}  // namespace pydoca::crash
