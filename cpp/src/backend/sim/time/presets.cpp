#include "pydoca/sim_timing.hpp"
#include "pydoca/status.hpp"

#include "backend/sim/work/data_engine.hpp"
#include "detail/concat.hpp"

#include <array>
#include <chrono>
#include <optional>
#include <string>

namespace pydoca::sim {

namespace {

using std::chrono::nanoseconds;

/// "Published" is what the manufacturer states of the card; cpp/design/time.md, "Presets", has the sources. All else
/// is an estimate.
struct Card {
  std::string_view name;
  Generation generation;
  double line_rate;               ///< bytes a second; published
  double pcie_bandwidth;          ///< bytes a second in each direction: lanes * transfers * 128 / 130 / 8; published
  nanoseconds rdma_latency;       ///< how long a write or a message takes, one way
  nanoseconds rdma_read_latency;  ///< how long what waits for an answer takes
  double rdma_rate;
  double comch_bandwidth;     ///< its DMA engine's
  nanoseconds comch_latency;  ///< how long a message through the driver's queue pairs takes, one way
  double comch_rate;
  nanoseconds event_set_latency;  ///< how long a write over PCIe takes that is not answered
  nanoseconds event_add_latency;  ///< how long an atomic operation takes, which is answered
};

constexpr std::array<Card, 2> cards{{
    {"bluefield2", Generation::bluefield2, 25e9, 31.5e9, nanoseconds(1000), nanoseconds(1900), 100e6, 15e9,
     nanoseconds(3500), 2e6, nanoseconds(900), nanoseconds(1800)},
    {"bluefield3", Generation::bluefield3, 50e9, 63e9, nanoseconds(800), nanoseconds(1600), 200e6, 30e9,
     nanoseconds(2500), 3e6, nanoseconds(700), nanoseconds(1400)},
}};

OperationTiming operation_of(nanoseconds latency, std::optional<double> bandwidth, double rate, nanoseconds spread) {
  return {.latency = latency,
          .bandwidth = bandwidth,
          .rate = rate,
          .jitter = Jitter{.distribution = JitterDistribution::exponential, .spread = spread},
          .queue_depth = std::nullopt,
          .reorder_window = std::nullopt,
          .executes_in_submit = std::nullopt};
}

Timing timing_of_card(const Card& card) {
  constexpr double engine_rate = 10e6;
  constexpr nanoseconds spread(50);
  Timing timing;
  for (const DataEngine* const engine : data_engines()) {
    if (const auto speed = engine->speed(card.generation)) {
      timing.operations[std::string(engine->timing)] =
          operation_of(speed->latency, speed->bandwidth, engine_rate, spread);
    }
  }
  const auto rdma = [&](nanoseconds latency) { return operation_of(latency, card.line_rate, card.rdma_rate, spread); };
  timing.operations["rdma_write"] = rdma(card.rdma_latency);
  timing.operations["rdma_send"] = rdma(card.rdma_latency);
  timing.operations["rdma_read"] = rdma(card.rdma_read_latency);
  timing.operations["rdma_atomic"] = rdma(card.rdma_read_latency);
  timing.operations["comch_send"] = operation_of(card.comch_latency, card.comch_bandwidth, card.comch_rate, spread);
  timing.operations["sync_event_set"] = operation_of(card.event_set_latency, {}, engine_rate, spread);
  timing.operations["sync_event_add"] = operation_of(card.event_add_latency, {}, engine_rate, spread);
  timing.pcie_bandwidth = card.pcie_bandwidth;
  return timing;
}

}  // namespace

std::string_view name_of(JitterDistribution distribution) noexcept {
  constexpr std::string_view names[] = {"none", "uniform", "normal", "lognormal", "exponential"};
  return names[static_cast<std::size_t>(distribution)];
}

std::vector<std::string_view> timing_presets() {
  std::vector<std::string_view> names{"ideal"};
  for (const Card& card : cards) {
    names.push_back(card.name);
  }
  return names;
}

Timing timing_preset(std::string_view name) {
  if (name == "ideal") {
    return {};
  }
  for (const Card& card : cards) {
    if (card.name == name) {
      return timing_of_card(card);
    }
  }
  throw Error(Status::invalid_value,
              detail::concat("timing: \"", name, "\" is not a preset; there are: ideal, bluefield2, bluefield3"));
}

}  // namespace pydoca::sim
