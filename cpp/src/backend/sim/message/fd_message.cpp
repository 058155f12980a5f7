#include "backend/sim/message/fd_message.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <sys/socket.h>
#include <sys/uio.h>

namespace pydoca::sim {

namespace {

/// Room for more descriptors than may come. The kernel would close those that do not fit, and a message with too many
/// would look correct.
constexpr std::size_t control_fds = 8;

struct Control {
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(control_fds * sizeof(int))> bytes{};
};

Status status_of(int error) noexcept {
  switch (error) {
    case EAGAIN:
      return Status::again;
    case ECONNRESET:
    case EPIPE:
    case ENOTCONN:
      return Status::connection_reset;
    default:
      return Status::operating_system;
  }
}

void attach(msghdr& header, Control& control, std::span<const int> fds) noexcept {
  if (fds.empty()) {
    return;
  }
  header.msg_control = control.bytes.data();
  header.msg_controllen = CMSG_SPACE(fds.size_bytes());
  // The first message, of which CMSG_FIRSTHDR would ask whether there is room; compilers then expect a null pointer.
  auto* const part = ::new (control.bytes.data()) cmsghdr{};
  part->cmsg_level = SOL_SOCKET;
  part->cmsg_type = SCM_RIGHTS;
  part->cmsg_len = CMSG_LEN(fds.size_bytes());
  std::memcpy(CMSG_DATA(part), fds.data(), fds.size_bytes());
}

/// Takes every descriptor out of one control message, and closes those that are too many.
std::size_t take_fds(const cmsghdr& part, ReceivedFds& received) noexcept {
  if (part.cmsg_level != SOL_SOCKET || part.cmsg_type != SCM_RIGHTS) {
    return 0;
  }
  const std::size_t count = (part.cmsg_len - CMSG_LEN(0)) / sizeof(int);
  for (std::size_t i = 0; i < count; ++i) {
    int number = -1;
    std::memcpy(&number, CMSG_DATA(&part) + i * sizeof number, sizeof number);
    detail::Fd fd(number);
    if (received.count < max_message_fds) {
      received.fds[received.count++] = std::move(fd);
    }
  }
  return count;
}

template <class Call>
ssize_t retry_interrupted(Call call) noexcept {
  // Bounded, so that frequent signals cannot keep the caller here for ever.
  ssize_t result = -1;
  for (int attempt = 0; attempt < 1000; ++attempt) {
    result = call();
    if (result >= 0 || errno != EINTR) {
      break;
    }
  }
  return result;
}

}  // namespace

Status send_message(int socket, std::span<const std::byte> message, std::span<const int> fds) noexcept {
  std::array<std::byte, 256> copy;  // an iovec's base is not const
  if (message.size() > copy.size() || fds.size() > max_message_fds) {
    return Status::invalid_value;
  }
  std::ranges::copy(message, copy.begin());
  iovec part{.iov_base = copy.data(), .iov_len = message.size()};
  Control control;
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  attach(header, control, fds);
  const ssize_t sent = retry_interrupted([&] { return ::sendmsg(socket, &header, MSG_NOSIGNAL); });
  return sent < 0 ? status_of(errno) : Status::success;
}

Status receive_message(int socket, std::span<std::byte> buffer, ReceivedFds& received) noexcept {
  iovec part{.iov_base = buffer.data(), .iov_len = buffer.size()};
  Control control;
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control.bytes.data();
  header.msg_controllen = control.bytes.size();
  const ssize_t length = retry_interrupted([&] { return ::recvmsg(socket, &header, MSG_CMSG_CLOEXEC); });
  if (length < 0) {
    return status_of(errno);
  }
  std::size_t count = 0;
  for (cmsghdr* c = CMSG_FIRSTHDR(&header); c != nullptr; c = CMSG_NXTHDR(&header, c)) {
    count += take_fds(*c, received);
  }
  if ((header.msg_flags & MSG_CTRUNC) != 0 && count < control_fds) {  // there was room for more
    received = {};
    return Status::full;
  }
  const bool cut = (header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0;
  if (length == 0 && count == 0) {
    return Status::connection_reset;
  }
  if (cut || count != received.count || static_cast<std::size_t>(length) != buffer.size()) {
    received = {};
    return Status::invalid_value;
  }
  return Status::success;
}

}  // namespace pydoca::sim
