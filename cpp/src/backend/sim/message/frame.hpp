#pragma once

#include "pydoca/cpus.hpp"
#include "pydoca/status.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

/// The packets of a channel's socket: a head, then a payload. The head has the type in its lower half, and in the upper
/// one where the sender runs (Cpus::word()), which is 0 but for messages: so other versions understand a hello.
namespace pydoca::sim {

enum class FrameType : std::uint32_t { hello = 1, answer = 2, message = 3, handshake = 4 };

/// again: the socket is full. connection_reset: the peer is gone. no_memory, operating_system: the kernel's errors.
Status send_frame(int fd, FrameType type, std::span<const std::byte> payload, Cpus sender = {}) noexcept;

/// again: nothing has come. connection_reset: the peer is gone and all it sent was received. connection_aborted: the
/// packet is not a frame of this type, is longer than payload or carried descriptors (which never reach this process);
/// the socket cannot be used any more.
Status receive_frame(int fd, FrameType type, std::span<std::byte> payload, std::size_t& length) noexcept;
/// The same with a frame of type message; sender receives what it says of its sender.
Status receive_message_frame(int fd, std::span<std::byte> payload, std::size_t& length, Cpus& sender) noexcept;

}  // namespace pydoca::sim
