#pragma once

#include "pydoca/sim_timing.hpp"

#include "backend/sim/time/random.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>

namespace pydoca::sim {

/// A server is busy for fractions of a nanosecond: 64 bytes at 25 GB/s take 2.56 ns. A monotonic clock in these units
/// runs for nine years.
inline constexpr std::uint64_t ticks_per_ns = 64;

/// Serves one after another: an engine of a function, or one direction of a link. Any thread may use it.
class Server {
 public:
  /// When it is through with what is given to it at that moment, in ticks.
  std::uint64_t serve(std::uint64_t now_ns, std::uint64_t ticks) noexcept {
    std::uint64_t free_at = free_at_.load(std::memory_order_relaxed);
    std::uint64_t end = 0;
    do {
      end = std::max(free_at, now_ns * ticks_per_ns) + ticks;
    } while (!free_at_.compare_exchange_weak(free_at, end, std::memory_order_relaxed));
    return end;
  }

 private:
  std::atomic<std::uint64_t> free_at_{0};
};

/// The link between a card and its host.
struct Link {
  double ticks_per_byte = 0;
  Server to_card;
  Server to_host;
};

/// The model of one operation, complete.
struct Pace {
  std::uint64_t latency_ns = 0;
  double ticks_per_byte = 0;
  double ticks_per_operation = 0;
  Jitter jitter{JitterDistribution::none, std::chrono::nanoseconds(0)};
  std::uint32_t queue_depth = 0;
  std::uint32_t reorder_window = 1;
  bool executes_in_submit = false;

  /// How long an engine is busy with an operation.
  std::uint64_t busy_ticks(std::uint64_t bytes) const noexcept {
    return static_cast<std::uint64_t>(
        std::llround(std::max(ticks_per_byte * static_cast<double>(bytes), ticks_per_operation)));
  }
};

/// Bytes that an operation moves over the link of its card.
struct Crossing {
  std::uint64_t to_card = 0;
  std::uint64_t to_host = 0;
};

/// The moments of one operation, in nanoseconds.
struct Moments {
  std::uint64_t earliest = 0;  ///< if nothing had been before it, without jitter
  std::uint64_t due = 0;
};

/// When an operation is over that is posted now. Draws from random what its jitter needs.
inline Moments moments_of(const Pace& pace, Server& engine, Link* link, std::uint64_t now_ns, std::uint64_t bytes,
                          const Crossing& crossing, Random& random) noexcept {
  const auto cross = [&](Server& lane, std::uint64_t size, std::uint64_t& end, std::uint64_t& busy) {
    const auto ticks = static_cast<std::uint64_t>(std::llround(link->ticks_per_byte * static_cast<double>(size)));
    end = std::max(end, lane.serve(now_ns, ticks));
    busy = std::max(busy, ticks);
  };
  std::uint64_t busy = pace.busy_ticks(bytes);
  std::uint64_t end = engine.serve(now_ns, busy);
  if (link != nullptr && crossing.to_card != 0) {
    cross(link->to_card, crossing.to_card, end, busy);
  }
  if (link != nullptr && crossing.to_host != 0) {
    cross(link->to_host, crossing.to_host, end, busy);
  }
  const auto to_ns = [](std::uint64_t ticks) { return (ticks + ticks_per_ns - 1) / ticks_per_ns; };
  const double late = std::max(static_cast<double>(pace.latency_ns) + draw(pace.jitter, random), 0.0);
  return {.earliest = now_ns + to_ns(busy) + pace.latency_ns,
          .due = to_ns(end) + static_cast<std::uint64_t>(std::llround(late))};
}

}  // namespace pydoca::sim
