#pragma once

#include "pydoca/device_properties.hpp"

#include "backend/sim/copy/copy.hpp"
#include "backend/sim/work/data_engine.hpp"
#include "backend/sim/work/engine_queue.hpp"

#include <cstdint>
#include <memory>

namespace pydoca::sim {

/// A queue of copies, which all cores of the device share.
class CopyQueue final : public EngineQueue {
 public:
  /// Throws as EngineQueue does.
  CopyQueue(WorkEngine& engine, const CopyLimits& limits, const backend::QueueOptions& options,
            backend::Notifier& notifier)
      : EngineQueue(engine, options, notifier, std::uint64_t{64} * 1024, true), limits_(limits) {}

  Status post(backend::DataOperation& operation, bool flush) noexcept override {
    if (!take_place()) [[unlikely]] {
      return Status::again;
    }
    if (runs_at_once(operation.length, flush) && is_plain(operation)) [[likely]] {
      finished().add(operation, copy_at_once(operation, limits_));
    } else {
      accept(operation, flush);
    }
    return Status::success;
  }
  Status work(backend::DataOperation& operation, std::uint64_t offset, std::uint64_t size,
              bool streaming) noexcept override {
    return copy_piece(operation, limits_.ordinal, offset, size, streaming);
  }

 private:
  Status check(const backend::DataOperation& operation) const noexcept override {
    return check_copy(operation, limits_);
  }

  const CopyLimits limits_;
};

inline constexpr DataEngine copy_engine{
    .name = "dma",
    .timing = "dma",
    .sequence = 0,
    .crosses_link = true,
    .equip =
        [](Capabilities& capabilities, Generation /*card*/, Side /*side*/) {
          capabilities.dma = {.max_buf_size = std::uint64_t{2} << 20, .max_buf_list_len = 64, .max_num_tasks = 65536};
        },
    .speed = [](Generation card) noexcept -> std::optional<EngineSpeed> {
      return card == Generation::bluefield2 ? EngineSpeed{.latency = std::chrono::nanoseconds(2600), .bandwidth = 15e9}
                                            : EngineSpeed{.latency = std::chrono::nanoseconds(1900), .bandwidth = 30e9};
    },
    .create = [](const EnginePlace& place, const backend::QueueOptions& options,
                 backend::Notifier& notifier) -> std::unique_ptr<backend::DataQueue> {
      const DmaCapabilities& dma = *place.capabilities.dma;
      const CopyLimits limits{
          .ordinal = place.ordinal, .max_size = dma.max_buf_size, .max_list_len = dma.max_buf_list_len};
      return std::make_unique<CopyQueue>(place.workers, limits, options, notifier);
    }};

}  // namespace pydoca::sim
