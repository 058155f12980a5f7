#include "backend/sim/fabric/wakes.hpp"

#include "pydoca/status.hpp"

#include "detail/concat.hpp"
#include "detail/system_reason.hpp"

#include <array>
#include <cerrno>
#include <cstddef>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

namespace pydoca::sim {

namespace {

[[noreturn]] void refuse_wakes() {
  throw Error(Status::operating_system, detail::concat("cannot create a wake-up: ", detail::system_reason(errno)));
}

int option_of(int socket, int option) noexcept {
  int value = -1;
  socklen_t size = sizeof value;
  return ::getsockopt(socket, SOL_SOCKET, option, &value, &size) == 0 ? value : -1;
}

}  // namespace

Wakes::Wakes() : own_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)), epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (!own_ || !epoll_) {
    refuse_wakes();
  }
  watch(own_.get());
}

void Wakes::wake() noexcept { ::eventfd_write(own_.get(), 1); }

void Wakes::watch(int socket) {
  epoll_event event{.events = EPOLLIN | EPOLLET, .data = {.fd = socket}};
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, socket, &event) != 0) {
    refuse_wakes();
  }
}

std::pair<detail::Fd, detail::Fd> create_wake_sockets() {
  std::array<int, 2> ends{-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0) {
    refuse_wakes();
  }
  return {detail::Fd(ends[0]), detail::Fd(ends[1])};
}

void require_wake_socket(int socket) {
  if (option_of(socket, SO_DOMAIN) != AF_UNIX || option_of(socket, SO_TYPE) != SOCK_STREAM) {
    throw Error(Status::not_permitted, "import: the owner sent a file that is not a socket for wake-ups");
  }
}

void send_wake(int socket) noexcept {
  constexpr std::byte one{1};
  static_cast<void>(::send(socket, &one, sizeof one, MSG_DONTWAIT | MSG_NOSIGNAL));
}

void drain_wakes(int socket) noexcept {
  std::array<std::byte, 1024> bytes;
  static_cast<void>(::recv(socket, bytes.data(), bytes.size(), MSG_DONTWAIT));
}

}  // namespace pydoca::sim
