#include "backend/sim/cache/cache_queue.hpp"

#include "backend/sim/compute/cache_line.hpp"
#include "backend/sim/copy/copy.hpp"

namespace pydoca::sim {

namespace {

/// Up to this size an invalidation costs less than telling another core about it.
constexpr std::uint64_t invalidate_inline_size = 4 * 1024;

}  // namespace

CacheQueue::CacheQueue(WorkEngine& engine, std::size_t ordinal, const MmapAdviseCapabilities& limits,
                       const backend::QueueOptions& options, backend::Notifier& notifier)
    : WorkQueueOf(engine, options, notifier, invalidate_inline_size, false), ordinal_(ordinal), limits_(limits) {}

Status CacheQueue::post(backend::CacheOperation& operation, bool flush) noexcept {
  if (!take_place()) {
    return Status::again;
  }
  accept(operation, flush);
  return Status::success;
}

Status CacheQueue::check(const backend::DataOperation& operation) const noexcept {
  const Segment* const segment = operation.src;
  const bool taken = segment != nullptr && segment->next == nullptr && operation.length != 0 &&
                     operation.length <= limits_.max_buf_size && readable(*segment, ordinal_) &&
                     region_of(*segment, ordinal_)->reach() == Region::Reach::local;
  return taken ? Status::success : Status::io_failed;
}

Status CacheQueue::work(backend::DataOperation& operation, std::uint64_t offset, std::uint64_t size,
                        bool /*streaming*/) noexcept {
  drop_from_caches(region_of(*operation.src, ordinal_)->at(operation.src->data + offset), size);
  return Status::success;
}

}  // namespace pydoca::sim
