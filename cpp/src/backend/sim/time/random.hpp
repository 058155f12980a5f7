#pragma once

#include "pydoca/sim_timing.hpp"

#include <cmath>
#include <cstdint>
#include <numbers>
#include <string_view>

namespace pydoca::sim {

/// splitmix64: the same numbers with every compiler and library, which the distributions of <random> do not promise.
class Random {
 public:
  explicit Random(std::uint64_t seed) noexcept : state_(seed) {}

  std::uint64_t next() noexcept {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t word = state_;
    word = (word ^ (word >> 30U)) * 0xbf58476d1ce4e5b9U;
    word = (word ^ (word >> 27U)) * 0x94d049bb133111ebU;
    return word ^ (word >> 31U);
  }
  /// A number in [0, 1).
  double unit() noexcept { return static_cast<double>(next() >> 11U) * 0x1p-53; }
  /// In [0, bound); bound is not 0.
  std::uint32_t below(std::uint32_t bound) noexcept {
    return static_cast<std::uint32_t>((static_cast<std::uint64_t>(static_cast<std::uint32_t>(next() >> 32U)) * bound) >>
                                      32U);
  }
  /// Always two numbers, so that what is drawn depends on nothing but how often.
  double normal() noexcept {
    const double radius = std::sqrt(-2 * std::log1p(-unit()));
    return radius * std::cos(2 * std::numbers::pi * unit());
  }

 private:
  std::uint64_t state_;
};

/// Nanoseconds to add to the latency; may be negative.
inline double draw(const Jitter& jitter, Random& random) noexcept {
  const auto spread = static_cast<double>(jitter.spread.count());
  switch (jitter.distribution) {
    case JitterDistribution::none:
      return 0;
    case JitterDistribution::uniform:
      return spread * random.unit();
    case JitterDistribution::normal:
      return spread * random.normal();
    case JitterDistribution::lognormal:
      return spread * std::exp(random.normal());
    case JitterDistribution::exponential:
      return -spread * std::log1p(-random.unit());
  }
  return 0;
}

/// The seed of one of several sequences.
inline std::uint64_t derive_seed(std::uint64_t seed, std::string_view name, std::uint64_t number) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char letter : name) {
    hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3U;
  }
  return Random(Random(seed).next() ^ Random(hash).next() ^ Random(~number).next()).next();
}

}  // namespace pydoca::sim
