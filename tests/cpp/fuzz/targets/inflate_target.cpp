#include "backend/sim/compress/inflater.hpp"
#include "fuzz/targets/sim_targets.hpp"
#include "rig/deflate.hpp"

#include <algorithm>

namespace pydoca::fuzz {

namespace {

constexpr std::size_t expanded_size = 4096;
constexpr std::byte untouched{0xEE};

struct Outcome {
  Bytes plain = Bytes(expanded_size + 64, untouched);  ///< the last bytes are beyond that
  std::size_t size = 0;
  sim::Inflater::State state{};
  std::uint32_t crc = 0;
  std::uint32_t adler = 0;

  std::span<std::byte> left() { return std::span(plain).first(expanded_size).subspan(size); }
};

void finish(Outcome& outcome, const sim::Inflater& inflater) {
  outcome.crc = inflater.crc();
  outcome.adler = inflater.adler();
  require(std::ranges::all_of(std::span(outcome.plain).subspan(expanded_size),
                              [](std::byte byte) { return byte == untouched; }),
          "nothing is written beyond that");
}

Outcome at_once(sim::Inflater& inflater, std::span<const std::byte> stream) {
  Outcome outcome;
  inflater.begin();
  const auto all = inflater.expand(stream, outcome.left());
  require(all.read <= stream.size() && all.written <= expanded_size, "what is counted fits");
  outcome.size = all.written;
  outcome.state = all.state;
  finish(outcome, inflater);
  return outcome;
}

/// The input in pieces of so many bytes, the output in others.
Outcome in_steps(sim::Inflater& inflater, std::span<const std::byte> stream, std::size_t piece) {
  Outcome outcome;
  inflater.begin();
  for (bool goes_on = true; goes_on;) {
    const auto input = stream.first(std::min(piece, stream.size()));
    const auto output = outcome.left().first(std::min(piece + 5, outcome.left().size()));
    const auto step = inflater.step(input, output);
    require(step.read <= input.size() && step.written <= output.size(), "what is counted fits");
    stream = stream.subspan(step.read);
    outcome.size += step.written;
    outcome.state = step.state;
    const bool wants =
        step.state == sim::Inflater::State::wants_input || step.state == sim::Inflater::State::wants_output;
    goes_on = wants && (step.read != 0 || step.written != 0);
  }
  finish(outcome, inflater);
  return outcome;
}

}  // namespace

void run_inflate(std::span<const std::byte> input) {
  if (input.empty() || !sim::no_inflater().empty()) {
    return;
  }
  sim::Inflater inflater;
  const std::size_t piece = 1 + std::to_integer<std::size_t>(input[0]);
  const Outcome whole = at_once(inflater, input.subspan(1));
  const Outcome steps = in_steps(inflater, input.subspan(1), piece);
  const bool ended = whole.state == sim::Inflater::State::ended;
  require(ended == (steps.state == sim::Inflater::State::ended),
          "a stream ends at once and in steps, or in neither way");
  if (ended) {
    require(whole.size == steps.size &&
                std::equal(whole.plain.begin(), whole.plain.begin() + static_cast<std::ptrdiff_t>(whole.size),
                           steps.plain.begin()),
            "both ways give the same bytes");
    require(whole.crc == steps.crc && whole.adler == steps.adler, "both ways have the same checksums");
  }
}

std::vector<Bytes> inflate_seeds() {
  std::vector<Bytes> seeds;
  for (const DeflateVector& vector : deflate_vectors) {
    const ByteVector stream = from_hex(vector.deflate);
    seeds.emplace_back(1, std::byte{7}).insert(seeds.back().end(), stream.begin(), stream.end());
  }
  return seeds;
}

}  // namespace pydoca::fuzz
