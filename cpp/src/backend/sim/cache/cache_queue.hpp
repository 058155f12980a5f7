#pragma once

#include "pydoca/device_properties.hpp"

#include "backend/sim/work/work_queue.hpp"

#include <cstddef>

namespace pydoca::sim {

/// Invalidates the caches of the DPU's processor, which on the simulator is this machine's.
class CacheQueue final : public WorkQueueOf<backend::CacheQueue> {
 public:
  /// Throws what WorkQueue throws.
  CacheQueue(WorkEngine& engine, std::size_t ordinal, const MmapAdviseCapabilities& limits,
             const backend::QueueOptions& options, backend::Notifier& notifier);

  Status post(backend::CacheOperation& operation, bool flush) noexcept override;
  Status work(backend::DataOperation& operation, std::uint64_t offset, std::uint64_t size,
              bool streaming) noexcept override;

 private:
  Status check(const backend::DataOperation& operation) const noexcept override;

  const std::size_t ordinal_;
  const MmapAdviseCapabilities limits_;
};

}  // namespace pydoca::sim
