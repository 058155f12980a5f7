#pragma once

#include "pydoca/backend/hash.hpp"
#include "pydoca/device_properties.hpp"

#include "backend/sim/sha/digest.hpp"
#include "backend/sim/work/data_engine.hpp"
#include "backend/sim/work/engine_queue.hpp"

#include <cstddef>
#include <memory>

namespace pydoca::sim {

/// What the SHA engine of one device enforces.
struct HashLimits {
  std::size_t ordinal = 0;
  ShaCapabilities sha;
};

/// A queue of the SHA engine. A message is hashed by one core.
class HashQueue final : public EngineQueue {
 public:
  /// Throws not_supported with the reason where OpenSSL is not there, no_memory, and what EngineQueue throws.
  HashQueue(WorkEngine& engine, const HashLimits& limits, const backend::QueueOptions& options,
            backend::Notifier& notifier);

  std::unique_ptr<backend::OperationState> create_state() override;
  /// driver, shutdown: the device was removed, or the queue broken, meanwhile.
  Status work(backend::DataOperation& operation, std::uint64_t offset, std::uint64_t size,
              bool streaming) noexcept override;

 private:
  Status check(const backend::DataOperation& operation) const noexcept override;
  Status hash(const backend::HashOperation& operation, Digest& digest) const noexcept;

  const HashLimits limits_;
};

/// Adds what a BlueField-2 has, where this machine computes digests.
void equip_with_sha(Capabilities& capabilities, Generation card, Side side);

inline constexpr DataEngine hash_engine{
    .name = "sha",
    .timing = "sha",
    .sequence = 1,
    .crosses_link = true,
    .equip = equip_with_sha,
    .speed = [](Generation card) noexcept -> std::optional<EngineSpeed> {
      return card == Generation::bluefield2
                 ? std::optional(EngineSpeed{.latency = std::chrono::nanoseconds(2600), .bandwidth = 5e9})
                 : std::nullopt;
    },
    .create = [](const EnginePlace& place, const backend::QueueOptions& options,
                 backend::Notifier& notifier) -> std::unique_ptr<backend::DataQueue> {
      const HashLimits limits{.ordinal = place.ordinal, .sha = *place.capabilities.sha};
      return std::make_unique<HashQueue>(place.workers, limits, options, notifier);
    }};

}  // namespace pydoca::sim
