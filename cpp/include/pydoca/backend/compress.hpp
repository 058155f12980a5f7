#pragma once

#include "pydoca/backend/queue.hpp"

#include <cstdint>

namespace pydoca::backend {

/// Why source could not be expanded.
enum class DecompressFault : std::uint8_t {
  none,
  not_deflate,  ///< source is not DEFLATE data
  cut_short,    ///< source ends before the last block of its data does
  no_room,      ///< source expands to more than target has room for
  too_much,     ///< source expands to more than the device gives in one operation
};

/// What the device tells when an operation has ended.
struct DecompressAnswer {
  std::uint64_t filled = 0;  ///< bytes that target's tailroom has got
  std::uint32_t crc = 0;     ///< CRC-32 of these bytes (RFC 1952)
  std::uint32_t adler = 0;   ///< Adler-32 of these bytes (RFC 1950)
  DecompressFault fault = DecompressFault::none;
};

/// An operation of the compression engine: appends to target what source's data, one DEFLATE stream (RFC 1951), expands
/// to. What follows the stream's last block in source is ignored. Fails with io_failed, and says why, where it cannot
/// be expanded; a part of target's tailroom may have been written then.
struct DecompressOperation : DataOperation, DecompressAnswer {
  using Answer = DecompressAnswer;
};

}  // namespace pydoca::backend
