#pragma once

#include "pydoca/device_properties.hpp"

#include "backend/sim/compute/digest.hpp"
#include "backend/sim/work/work_queue.hpp"

#include <cstddef>
#include <memory>

namespace pydoca::sim {

/// What the SHA engine of one device enforces.
struct HashLimits {
  std::size_t ordinal = 0;
  ShaCapabilities sha;
};

/// A queue of the SHA engine. A message is hashed by one core.
class HashQueue final : public WorkQueueOf<backend::HashQueue> {
 public:
  /// Throws not_supported with the reason where OpenSSL is not there, no_memory, and what WorkQueue throws.
  HashQueue(WorkEngine& engine, const HashLimits& limits, const backend::QueueOptions& options,
            backend::Notifier& notifier);

  Status post(backend::HashOperation& operation, bool flush) noexcept override;
  std::unique_ptr<backend::HashMessage> create_message() override;
  /// driver, shutdown: the device was removed, or the queue broken, meanwhile.
  Status work(backend::DataOperation& operation, std::uint64_t offset, std::uint64_t size,
              bool streaming) noexcept override;

 private:
  Status check(const backend::DataOperation& operation) const noexcept override;
  Status hash(const backend::HashOperation& operation, Digest& digest) const noexcept;

  const HashLimits limits_;
};

}  // namespace pydoca::sim
