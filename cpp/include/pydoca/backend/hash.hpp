#pragma once

#include "pydoca/backend/queue.hpp"
#include "pydoca/sha_algorithm.hpp"

#include <cstdint>

namespace pydoca::backend {

/// An operation of the SHA engine: appends the digest of src to dst. src may be empty; dst must be a single segment,
/// not a list. With a state, src is a piece of a message, and the last piece alone appends; all others must have a
/// multiple of block_size(algorithm) bytes. Fails with io_failed when the message has its last piece and is_first is
/// false.
struct HashOperation : DataOperation {
  ShaAlgorithm algorithm{};
  bool is_first = true;  ///< the message begins; its former pieces are forgotten
  bool is_last = true;
  OperationState* state = nullptr;  ///< of the message
};

}  // namespace pydoca::backend
