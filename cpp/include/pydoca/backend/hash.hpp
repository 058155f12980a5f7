#pragma once

#include "pydoca/backend/queue.hpp"
#include "pydoca/sha_algorithm.hpp"

#include <cstdint>

namespace pydoca::backend {

/// An operation of the SHA engine: appends the digest of source to target. source may be empty; target must be a single
/// segment, not a list. With a message, source is a piece of a message, and the last piece alone appends; all others
/// must have a multiple of block_size(algorithm) bytes. Fails with io_failed when the message has its last piece and
/// is_first is false.
struct HashOperation : DataOperation {
  ShaAlgorithm hash_function{};
  bool is_first = true;  ///< the message begins; its former pieces are forgotten
  bool is_last = true;
  OperationState* message = nullptr;  ///< what is known of it after its former pieces
};

}  // namespace pydoca::backend
