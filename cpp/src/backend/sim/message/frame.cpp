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

template <class Accepts>
Status receive(int fd, std::span<std::byte> payload, std::size_t& length, Accepts accepts) noexcept {
  std::uint32_t head = 0;
  std::array<iovec, 2> parts{{{&head, sizeof head}, {payload.data(), payload.size()}}};
  msghdr packet{};  // the kernel drops descriptors that find no room for control data, and says so
  packet.msg_iov = parts.data();
  packet.msg_iovlen = parts.size();
  const ssize_t size = receive_packet(fd, packet);
  if (size <= 0) {
    return size < 0 && errno == EAGAIN ? Status::again : Status::connection_reset;
  }
  const auto total = static_cast<std::size_t>(size);
  if (total < sizeof head || !accepts(head) || (packet.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) {
    return Status::connection_aborted;
  }
  length = total - sizeof head;
  return Status::success;
}

}  // namespace

Status send_frame(int fd, FrameType type, std::span<const std::byte> payload, Cpus sender) noexcept {
  std::uint32_t head = static_cast<std::uint32_t>(type) | static_cast<std::uint32_t>(sender.word()) << 16U;
  std::array<iovec, 2> parts{{{&head, sizeof head}, {const_cast<std::byte*>(payload.data()), payload.size()}}};
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
  return receive(fd, payload, length, [type](std::uint32_t head) { return head == static_cast<std::uint32_t>(type); });
}

Status receive_message_frame(int fd, std::span<std::byte> payload, std::size_t& length, Cpus& sender) noexcept {
  return receive(fd, payload, length, [&sender](std::uint32_t head) {
    sender = Cpus::from_word(static_cast<std::uint16_t>(head >> 16U));
    return (head & 0xffffU) == static_cast<std::uint32_t>(FrameType::message);
  });
}

}  // namespace pydoca::sim
