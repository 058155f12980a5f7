#pragma once

#include "pydoca/backend/compress.hpp"
#include "pydoca/device_properties.hpp"

#include "backend/sim/compress/inflater.hpp"
#include "backend/sim/work/data_engine.hpp"
#include "backend/sim/work/engine_queue.hpp"

#include <cstddef>
#include <memory>

namespace pydoca::sim {

/// A queue of the compression engine. A stream is expanded by one core.
class InflateQueue final : public EngineQueue {
 public:
  /// Throws not_supported with the reason where ISA-L is not there, no_memory, and what EngineQueue throws.
  InflateQueue(WorkEngine& engine, std::size_t ordinal, const CompressCapabilities& limits,
               const backend::QueueOptions& options, backend::Notifier& notifier);

  /// driver, shutdown: the device was removed, or the queue broken, meanwhile.
  Status work(backend::DataOperation& operation, std::uint64_t offset, std::uint64_t size,
              bool streaming) noexcept override;

 private:
  Status check(const backend::DataOperation& operation) const noexcept override;
  Status expand(backend::DecompressOperation& operation, Inflater& inflater) const noexcept;
  Status expand_in_steps(backend::DecompressOperation& operation, Inflater& inflater) const noexcept;

  const std::size_t ordinal_;
  const CompressCapabilities limits_;
};

/// A card's, where this machine expands DEFLATE data.
void equip_with_compress(Capabilities& capabilities, Generation card, Side side);

inline constexpr DataEngine inflate_engine{
    .name = "compress",
    .timing = "compress",
    .sequence = 10,
    .crosses_link = true,
    .equip = equip_with_compress,
    .speed = [](Generation /*card*/) noexcept -> std::optional<EngineSpeed> { return std::nullopt; },
    .create = [](const EnginePlace& place, const backend::QueueOptions& options,
                 backend::Notifier& notifier) -> std::unique_ptr<backend::DataQueue> {
      return std::make_unique<InflateQueue>(place.workers, place.ordinal, *place.capabilities.compress, options,
                                            notifier);
    }};

}  // namespace pydoca::sim
