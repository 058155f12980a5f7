#pragma once

#include "pydoca/backend/channel.hpp"
#include "pydoca/status.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

/// The opening exchange of a channel: the client's hello and the server's answer. Both begin with a magic number and a
/// version, whose places never change. Decoded texts point into the decoded bytes.
namespace pydoca::sim {

inline constexpr std::uint32_t channel_version = 2;
inline constexpr std::size_t max_hello_text = 255;  ///< bytes of each text
using HelloFrame = std::array<std::byte, 1024>;

struct Hello {
  backend::ChannelOptions options;
  std::string_view fabric;
  std::string_view pci_addr;  ///< names the function that the client is on
  std::string_view service;
};

struct Answer {
  Status status = Status::success;  ///< success: admitted
  backend::ChannelOptions options;
  std::string_view reason;
};

/// Returns the part of frame that it filled. Cuts texts that are too long: check them first.
std::span<const std::byte> encode(const Hello& hello, HelloFrame& frame) noexcept;
std::span<const std::byte> encode(const Answer& answer, HelloFrame& frame) noexcept;

/// For any bytes: success, unsupported_version or invalid_value.
Status decode(std::span<const std::byte> bytes, Hello& hello) noexcept;
Status decode(std::span<const std::byte> bytes, Answer& answer) noexcept;

}  // namespace pydoca::sim
