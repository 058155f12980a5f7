#include "backend/sim/compress/inflater.hpp"

#include "pydoca/status.hpp"

#include "detail/symbols.hpp"

#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>

namespace pydoca::sim {

namespace {

/// ISA-L, reached at run time and never linked, as a wheel must run without it. Its functions have no versions.
struct Isal {
  Isal();

  std::string reason;  ///< why it cannot be used; empty: it can

  decltype(&::isal_inflate_init) begin = nullptr;
  decltype(&::isal_inflate) step = nullptr;
  decltype(&::isal_inflate_stateless) expand = nullptr;
  decltype(&::crc32_gzip_refl) crc = nullptr;
  decltype(&::isal_adler32) adler = nullptr;
};

Isal::Isal() {
  detail::Symbols symbols("libisal.so.2", "Intel's ISA-L 2 (Debian/Ubuntu: apt-get install libisal2)");
  symbols.require(begin, "isal_inflate_init", nullptr);
  symbols.require(step, "isal_inflate", nullptr);
  symbols.require(expand, "isal_inflate_stateless", nullptr);
  symbols.require(crc, "crc32_gzip_refl", nullptr);
  symbols.require(adler, "isal_adler32", nullptr);
  reason = symbols.reason();
}

const Isal& isal() {
  static const auto* const loaded = new Isal;  // never destroyed: threads may outlive static destructors
  return *loaded;
}

const unsigned char* octets(const std::byte* bytes) noexcept { return reinterpret_cast<const unsigned char*>(bytes); }

}  // namespace

const std::string& no_inflater() { return isal().reason; }

struct Inflater::Stream {
  inflate_state state{};
};

Inflater::Inflater() : stream_(std::make_unique<Stream>()) {
  if (!isal().reason.empty()) {
    throw Error(Status::not_supported, isal().reason);
  }
  begin();
}

Inflater::~Inflater() = default;

void Inflater::begin() noexcept {
  isal().begin(&stream_->state);
  crc_ = 0;
  adler_ = 1;
}

Inflater::Step Inflater::step(std::span<const std::byte> input, std::span<std::byte> output) noexcept {
  return run(false, input, output);
}

Inflater::Step Inflater::expand(std::span<const std::byte> stream, std::span<std::byte> output) noexcept {
  return run(true, stream, output);
}

Inflater::Step Inflater::run(bool at_once, std::span<const std::byte> input, std::span<std::byte> output) noexcept {
  inflate_state& state = stream_->state;
  state.next_in = const_cast<std::uint8_t*>(octets(input.data()));  // ISA-L only reads it
  state.avail_in = static_cast<std::uint32_t>(input.size());
  state.next_out = reinterpret_cast<std::uint8_t*>(output.data());
  state.avail_out = static_cast<std::uint32_t>(output.size());
  const int result = at_once ? isal().expand(&state) : isal().step(&state);
  // What ISA-L has counted is right only where it has not failed.
  if (result < 0) {
    return {.state = State::not_deflate};
  }
  if (at_once && result != ISAL_DECOMP_OK) {
    return {.state = result == ISAL_OUT_OVERFLOW ? State::wants_output : State::wants_input};
  }
  Step step{.read = input.size() - state.avail_in, .written = output.size() - state.avail_out};
  if (at_once || state.block_state == ISAL_BLOCK_FINISH) {
    step.state = State::ended;
  } else if (state.avail_out == 0) {
    step.state = State::wants_output;
  }
  // Here the bytes are in the cache still.
  crc_ = isal().crc(crc_, octets(output.data()), step.written);
  adler_ = isal().adler(adler_, octets(output.data()), step.written);
  return step;
}

}  // namespace pydoca::sim
