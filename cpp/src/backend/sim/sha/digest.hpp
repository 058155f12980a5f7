#pragma once

#include "pydoca/sha_algorithm.hpp"

#include <array>
#include <cstddef>
#include <memory>
#include <string>

namespace pydoca::sim {

/// Why this machine computes no digests, and what to do: OpenSSL is not there. Empty: it does. Loads libcrypto.
const std::string& no_digests();

/// The largest of all algorithms.
using DigestBytes = std::array<std::byte, 64>;

/// Computes digests, one after another. Only its constructor takes memory.
class Digest {
 public:
  /// Throws no_memory, and not_supported with no_digests().
  Digest();
  ~Digest();
  Digest(const Digest&) = delete;
  Digest& operator=(const Digest&) = delete;

  // In this order, for each message. False when the library reports a failure.
  bool begin(ShaAlgorithm algorithm) noexcept;
  bool update(const std::byte* bytes, std::size_t size) noexcept;
  /// Writes digest_size(algorithm) bytes.
  bool finish(std::byte* digest) noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace pydoca::sim
