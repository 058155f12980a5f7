#pragma once

#include "pydoca/device_properties.hpp"

#include "backend/sim/work/data_engine.hpp"
#include "backend/sim/work/engine_queue.hpp"

#include <cstddef>
#include <memory>

namespace pydoca::sim {

/// Invalidates the caches of the DPU's processor, which on the simulator is this machine's.
class CacheQueue final : public EngineQueue {
 public:
  /// Throws what EngineQueue throws.
  CacheQueue(WorkEngine& engine, std::size_t ordinal, const MmapAdviseCapabilities& limits,
             const backend::QueueOptions& options, backend::Notifier& notifier);

  Status work(backend::DataOperation& operation, std::uint64_t offset, std::uint64_t size,
              bool streaming) noexcept override;

 private:
  Status check(const backend::DataOperation& operation) const noexcept override;

  const std::size_t ordinal_;
  const MmapAdviseCapabilities limits_;
};

/// The DPU's, where this machine has an instruction that drops a cache line.
void equip_with_cache(Capabilities& capabilities, Generation card, Side side);

inline constexpr DataEngine cache_engine{
    .name = "mmap_advise",
    .timing = "cache",
    .sequence = 2,
    .crosses_link = false,
    .equip = equip_with_cache,
    .speed = [](Generation /*card*/) noexcept -> std::optional<EngineSpeed> { return std::nullopt; },
    .create = [](const EnginePlace& place, const backend::QueueOptions& options,
                 backend::Notifier& notifier) -> std::unique_ptr<backend::DataQueue> {
      return std::make_unique<CacheQueue>(place.workers, place.ordinal, *place.capabilities.mmap_advise, options,
                                          notifier);
    }};

}  // namespace pydoca::sim
