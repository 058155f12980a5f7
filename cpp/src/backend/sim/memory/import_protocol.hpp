#pragma once

#include "backend/sim/memory/blob.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <type_traits>

/// The messages between an importer and an owner: one request, one reply. Then the connection stays open without
/// messages, and its end tells either side that the other has gone. Over a connection of its own, an importer of
/// foreign memory from the network also asks for atomic operations, which only the owner can do. Both run on one
/// machine, so structures are sent as they are.
namespace pydoca::sim {

inline constexpr std::uint64_t import_protocol = 0x5059444f43410002;  // "PYDOCA", version 2

/// An owner that has not answered after this time counts as silent.
inline constexpr std::chrono::milliseconds owner_timeout{2000};

/// What an importer of a counter sends over the connection: it has begun to sleep at times, or has changed the counter.
/// One byte, so that it says nothing which the owner would have to believe.
inline constexpr std::byte wake_byte{0x6e};

struct ImportRequest {
  std::uint64_t protocol = import_protocol;
  std::uint64_t epoch = 0;
  Key nonce{};
  std::uint32_t slot = 0;
  Access access{};
  std::uint32_t type = 0;  ///< a BlobType
  FunctionName function{};
};

/// success comes with the revocation page's file, and for mapped memory with the memory's file after it.
struct ImportReply {
  std::uint64_t protocol = import_protocol;
  Status status = Status::success;
  std::uint32_t mapped = 0;  ///< 1: map the file; 0: reach into the owner
  std::uint64_t epoch = 0;   ///< the slot's, now
  std::uint64_t base = 0;
  std::uint64_t length = 0;
  std::array<char, 144> reason{};  ///< why it was refused: a sentence about the owner, "it ..."; the rest is zero
};

/// An atomic operation on eight bytes.
struct WordChange {
  std::uint64_t protocol = import_protocol;
  std::uint64_t addr = 0;
  std::uint64_t compare = 0;  ///< what a swap compares with
  std::uint64_t operand = 0;
  std::uint64_t swaps = 0;  ///< 1: compare and swap; 0: fetch and add
};
struct WordReply {
  std::uint64_t protocol = import_protocol;
  std::uint64_t before = 0;
  Status status = Status::success;
  std::uint32_t zero = 0;
};

static_assert(std::has_unique_object_representations_v<WordChange> &&
              std::has_unique_object_representations_v<WordReply>);
static_assert(std::is_trivially_copyable_v<ImportRequest> && std::has_unique_object_representations_v<ImportRequest>);
static_assert(std::is_trivially_copyable_v<ImportReply> && std::has_unique_object_representations_v<ImportReply>);

}  // namespace pydoca::sim
