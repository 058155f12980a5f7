#pragma once

#include "pydoca/backend/engine.hpp"
#include "pydoca/backend/notifier.hpp"
#include "pydoca/backend/queue.hpp"
#include "pydoca/device_properties.hpp"
#include "pydoca/sim_timing.hpp"

#include "backend/sim/work/work_engine.hpp"

#include <cstddef>
#include <memory>
#include <string_view>

namespace pydoca::sim {

/// What a queue of an engine needs of its device.
struct EnginePlace {
  WorkEngine& workers;
  const Capabilities& capabilities;
  std::size_t ordinal;
};

/// An engine of the card. Its table stands beside its queue; find_data_engine() lists them.
struct DataEngine {
  std::string_view name;  ///< as in EngineTraits
  TimedOperation timing;
  /// The device has the engine. Throws what the queue's constructor does.
  std::unique_ptr<backend::DataQueue> (*create)(const EnginePlace& place, const backend::QueueOptions& options,
                                                backend::Notifier& notifier);
};

/// Null where the card has no such engine.
const DataEngine* find_data_engine(std::string_view name) noexcept;

}  // namespace pydoca::sim
