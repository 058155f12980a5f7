#pragma once

#include <cstdint>

namespace pydoca::verbs {

/// How long a peer without a receive asks the sender to wait: 0.64 ms. librdmacm's own choice is a thousand times that.
inline constexpr std::uint8_t receiver_not_ready_timer = 12;
/// Bytes of data that the CPU writes into the request: up to four cache lines cost less than a read by the device.
inline constexpr std::uint32_t wanted_inline_size = 256;

}  // namespace pydoca::verbs
