#pragma once

#include "pydoca/status.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

/// The packets of a channel's socket: a type, then a payload.
namespace pydoca::sim {

enum class FrameType : std::uint32_t { hello = 1, answer = 2, message = 3, handshake = 4 };

/// again: the socket is full. connection_reset: the peer is gone. no_memory, operating_system: the kernel's errors.
Status send_frame(int fd, FrameType type, std::span<const std::byte> payload) noexcept;

/// again: nothing has come. connection_reset: the peer is gone and all it sent was received. connection_aborted: the
/// packet is not a frame of this type, is longer than payload or carried descriptors (which never reach this process);
/// the socket cannot be used any more.
Status receive_frame(int fd, FrameType type, std::span<std::byte> payload, std::size_t& length) noexcept;

}  // namespace pydoca::sim
