#pragma once

#include "pydoca/backend/notifier.hpp"
#include "pydoca/backend/queue.hpp"
#include "pydoca/device_properties.hpp"

#include "backend/sim/work/work_engine.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

namespace pydoca::sim {

/// The cards that the simulator has. all: one that has every engine, which no card of the manufacturer has.
enum class Generation : std::uint8_t { bluefield2, bluefield3, all };

/// What a queue of an engine needs of its device.
struct EnginePlace {
  WorkEngine& workers;
  const Capabilities& capabilities;
  std::size_t ordinal;
};

/// An engine's part of the timing model of a card.
struct EngineSpeed {
  std::chrono::nanoseconds latency{0};
  double bandwidth = 0;  ///< bytes a second
};

/// An engine of the card. Its table is beside its queue; data_engines() lists them.
struct DataEngine {
  std::string_view name;    ///< its name in EngineTraits
  std::string_view timing;  ///< its name in timing models
  std::uint64_t sequence;   ///< number of its random sequences: one of its own, below 3 or above 9 (sequence_of())
  bool crosses_link;        ///< its data may cross the link between card and host
  /// What functions of the card have of it, on that side, or why they lack it.
  void (*equip)(Capabilities& capabilities, Generation card, Side side);
  /// Nothing where the card lacks it, or where no speed of it is known.
  std::optional<EngineSpeed> (*speed)(Generation card) noexcept;
  /// The device has the engine. Throws what the queue's constructor does.
  std::unique_ptr<backend::DataQueue> (*create)(const EnginePlace& place, const backend::QueueOptions& options,
                                                backend::Notifier& notifier);
};

inline constexpr std::size_t max_data_engines = 16;
std::span<const DataEngine* const> data_engines() noexcept;

}  // namespace pydoca::sim
