#include "backend/sim/message/frame.hpp"

#include <array>
#include <cerrno>
#include <sys/socket.h>
#include <sys/uio.h>

namespace pydoca::sim {
namespace {

Status send_status(int error) noexcept {
  switch (error) {
    case EAGAIN:
      return Status::again;
    case EPIPE:
    case ECONNRESET:
    case ENOTCONN:
      return Status::connection_reset;
    case ENOMEM:
    case ENOBUFS:
      return Status::no_memory;
    default:
      return Status::operating_system;
  }
}

/// A peer that closes the socket with unread messages leaves an error in front of what it sent. One more try reads what
/// it sent.
ssize_t receive_packet(int fd, msghdr& packet) noexcept {
  constexpr int tries = 16;
  for (int i = 0; i < tries; ++i) {
    packet.msg_flags = 0;
    const ssize_t size = ::recvmsg(fd, &packet, MSG_DONTWAIT);
    if (size >= 0 || (errno != ECONNRESET && errno != EINTR)) {
      return size;
    }
  }
  return 0;
}

}  // namespace

Status send_frame(int fd, FrameType type, std::span<const std::byte> payload) noexcept {
  std::array<iovec, 2> parts{{{&type, sizeof type}, {const_cast<std::byte*>(payload.data()), payload.size()}}};
  msghdr packet{};
  packet.msg_iov = parts.data();
  packet.msg_iovlen = parts.size();
  while (true) {
    if (::sendmsg(fd, &packet, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) {
      return Status::success;
    }
    if (errno != EINTR) {
      return send_status(errno);
    }
  }
}

Status receive_frame(int fd, FrameType type, std::span<std::byte> payload, std::size_t& length) noexcept {
  FrameType received{};
  std::array<iovec, 2> parts{{{&received, sizeof received}, {payload.data(), payload.size()}}};
  msghdr packet{};  // without room for control data the kernel drops descriptors and says so
  packet.msg_iov = parts.data();
  packet.msg_iovlen = parts.size();
  const ssize_t size = receive_packet(fd, packet);
  if (size <= 0) {
    return size < 0 && errno == EAGAIN ? Status::again : Status::connection_reset;
  }
  const auto total = static_cast<std::size_t>(size);
  if (total < sizeof received || received != type || (packet.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) {
    return Status::connection_aborted;
  }
  length = total - sizeof received;
  return Status::success;
}

}  // namespace pydoca::sim
