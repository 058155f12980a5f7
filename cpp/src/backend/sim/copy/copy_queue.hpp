#pragma once

#include "pydoca/device_properties.hpp"

#include "backend/sim/copy/copy.hpp"
#include "backend/sim/work/data_engine.hpp"
#include "backend/sim/work/engine_queue.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>

namespace pydoca::sim {

/// A queue of copies, which all cores of the device share.
class CopyQueue final : public EngineQueue {
 public:
  /// Throws as EngineQueue does.
  CopyQueue(WorkEngine& engine, const CopyLimits& limits, const backend::QueueOptions& options,
            backend::Notifier& notifier)
      : EngineQueue(engine, options, notifier, std::uint64_t{64} * 1024, true),
        limits_(limits),
        most_at_once_(std::min(inline_size(), limits.max_size)) {}

  Status post(backend::DataOperation& operation, bool flush) noexcept override {
    if (!take_place()) [[unlikely]] {
      return Status::again;
    }
    if (operation.length - 1 < most_at_once_ && begins_at_once(flush) && copy_at_once(operation, limits_.ordinal))
        [[likely]] {
      finished().add(operation, Status::success);
    } else {
      post_slowly(operation, flush);
    }
    return Status::success;
  }
  Status work(backend::DataOperation& operation, std::uint64_t offset, std::uint64_t size,
              bool streaming) noexcept override {
    return copy_piece(operation, limits_.ordinal, offset, size, streaming);
  }

 private:
  [[gnu::noinline]] void post_slowly(backend::DataOperation& operation, bool flush) noexcept {
    if (runs_at_once(operation.length, flush) && is_plain(operation)) {
      finished().add(operation, copy_plain(operation, limits_));
    } else {
      accept(operation, flush);
    }
  }
  Status check(const backend::DataOperation& operation) const noexcept override {
    return check_copy(operation, limits_);
  }

  const CopyLimits limits_;
  const std::uint64_t most_at_once_;  ///< bytes of an operation that is neither too large for the device nor for post()
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
