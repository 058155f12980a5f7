// Stands for inflater.cpp where ISA-L's headers are not installed.
#include "pydoca/status.hpp"

#include "backend/sim/compress/inflater.hpp"

namespace pydoca::sim {

const std::string& no_inflater() {
  static const std::string reason = "pydoca was built without ISA-L's headers; install libisal-dev, and build it again";
  return reason;
}

struct Inflater::Stream {};

Inflater::Inflater() { throw Error(Status::not_supported, no_inflater()); }
Inflater::~Inflater() = default;

void Inflater::begin() noexcept {}
Inflater::Step Inflater::step(std::span<const std::byte> /*input*/, std::span<std::byte> /*output*/) noexcept {
  return {.state = State::not_deflate};
}
Inflater::Step Inflater::expand(std::span<const std::byte> /*stream*/, std::span<std::byte> /*output*/) noexcept {
  return {.state = State::not_deflate};
}

}  // namespace pydoca::sim
