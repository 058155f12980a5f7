#pragma once

#include "detail/fd.hpp"

#include <utility>

namespace pydoca::sim {

/// What wakes one sleeper of this process: a file that only this process has, and a socket for each peer, of which the
/// peer has the other end. Nothing here waits, whatever a peer does to its end: flags of a file are shared by all who
/// have it, so a peer could make a write to a common event file block.
class Wakes {
 public:
  /// Throws operating_system.
  Wakes();

  /// Pollable, edge-triggered: a wake-up makes it readable, also while earlier ones have not been read.
  int fd() const noexcept { return epoll_.get(); }
  /// Any thread of this process may call it.
  void wake() noexcept;
  /// From now on a byte, or the end, of this socket wakes. Throws operating_system.
  void watch(int socket);

 private:
  detail::Fd own_;
  detail::Fd epoll_;
};

/// Both ends of a new channel for wake-ups. Throws operating_system.
std::pair<detail::Fd, detail::Fd> create_wake_sockets();
/// Throws not_permitted unless a peer sent such an end.
void require_wake_socket(int socket);
/// Wakes the other end. Never waits: a full socket has wake-ups that were not read.
void send_wake(int socket) noexcept;
/// Wake-ups that may be left unread, so that the socket never gets full.
inline constexpr unsigned max_unread_wakes = 64;
/// Reads the wake-ups that are there, a bounded number.
void drain_wakes(int socket) noexcept;

}  // namespace pydoca::sim
