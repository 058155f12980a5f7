#pragma once

#include "pydoca/status.hpp"

#include "detail/fd.hpp"

#include <array>
#include <cstddef>
#include <span>

/// Messages of fixed size that carry file descriptors.
namespace pydoca::sim {

inline constexpr std::size_t max_message_fds = 5;

struct ReceivedFds {
  std::array<detail::Fd, max_message_fds> fds;
  std::size_t count = 0;
};

/// again: the peer does not read. connection_reset: it is gone. At most max_message_fds descriptors, which stay the
/// caller's.
Status send_message(int socket, std::span<const std::byte> message, std::span<const int> fds) noexcept;

/// A message of exactly buffer's size, with at most max_message_fds descriptors; else invalid_value, and every
/// descriptor that came is closed. full: this process has no descriptors for those that came. again: nothing has come
/// (in time). connection_reset: the peer is gone.
Status receive_message(int socket, std::span<std::byte> buffer, ReceivedFds& received) noexcept;

}  // namespace pydoca::sim
