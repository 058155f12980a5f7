#pragma once

#include "backend/sim/copy/copy.hpp"
#include "backend/sim/work/work_queue.hpp"

namespace pydoca::sim {

/// A queue of copies, which all cores of the device share.
class CopyQueue final : public WorkQueueOf<backend::CopyQueue> {
 public:
  /// Throws as WorkQueue does.
  CopyQueue(WorkEngine& engine, const CopyLimits& limits, const backend::QueueOptions& options,
            backend::Notifier& notifier)
      : WorkQueueOf(engine, options, notifier, std::uint64_t{64} * 1024, true), limits_(limits) {}

  Status post(backend::CopyOperation& operation, bool flush) noexcept override {
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

}  // namespace pydoca::sim
