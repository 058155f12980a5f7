// Stands for digest.cpp where OpenSSL's headers are not installed.
#include "pydoca/status.hpp"

#include "backend/sim/sha/digest.hpp"

namespace pydoca::sim {

const std::string& no_digests() {
  static const std::string reason =
      "pydoca was built without OpenSSL's headers; install libssl-dev, and build it again";
  return reason;
}

struct Digest::State {};

Digest::Digest() { throw Error(Status::not_supported, no_digests()); }
Digest::~Digest() = default;

bool Digest::begin(ShaAlgorithm /*algorithm*/) noexcept { return false; }
bool Digest::update(const std::byte* /*bytes*/, std::size_t /*size*/) noexcept { return false; }
bool Digest::finish(std::byte* /*digest*/) noexcept { return false; }

}  // namespace pydoca::sim
