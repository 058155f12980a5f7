#include "backend/sim/cache/cache_queue.hpp"

#include "pydoca/device_properties.hpp"

#include "backend/sim/cache/cache_line.hpp"
#include "backend/sim/copy/segment_copy.hpp"

#include <algorithm>
#include <array>

namespace pydoca::sim {

namespace {

/// An invalidation of at most this size costs less than telling another core about it.
constexpr std::uint64_t invalidate_inline_size = 4 * 1024;

/// Reads the bytes instead: the instruction that drops a line would end the process where a mapped file has been cut
/// short. Nothing else differs, as the caches of this machine are coherent.
Status read_through(const Region& file, std::uint64_t addr, std::uint64_t size) noexcept {
  std::array<std::byte, invalidate_inline_size> buffer;
  const Bytes bytes(buffer.data(), buffer.size());
  Status status = Status::success;
  for (std::uint64_t done = 0; done < size && status == Status::success; done += buffer.size()) {
    status =
        copy_run(file, addr + done, bytes, bytes.addr(), std::min<std::uint64_t>(buffer.size(), size - done), false);
  }
  return status;
}

}  // namespace

void equip_with_cache(Capabilities& capabilities, Generation /*card*/, Side side) {
  capabilities.refusals.mmap_advise =
      side == Side::dpu ? no_cache_lines : "only functions of the DPU invalidate its cache";
  if (capabilities.refusals.mmap_advise.empty()) {
    capabilities.mmap_advise = {.max_buf_size = std::uint64_t{2} << 20, .max_num_tasks = 65536};
  }
}

CacheQueue::CacheQueue(WorkEngine& engine, std::size_t ordinal, const MmapAdviseCapabilities& limits,
                       const backend::QueueOptions& options, backend::Notifier& notifier)
    : EngineQueue(engine, options, notifier, invalidate_inline_size, false), ordinal_(ordinal), limits_(limits) {}

Status CacheQueue::check(const backend::DataOperation& operation) const noexcept {
  const Segment* const segment = operation.source;
  const bool taken = segment != nullptr && segment->next == nullptr && operation.length != 0 &&
                     operation.length <= limits_.max_buf_size && readable(*segment, ordinal_) &&
                     region_of(*segment, ordinal_)->is_own();
  return taken ? Status::success : Status::io_failed;
}

Status CacheQueue::work(backend::DataOperation& operation, std::uint64_t offset, std::uint64_t size,
                        bool /*streaming*/) noexcept {
  const Region& region = *region_of(*operation.source, ordinal_);
  const std::uint64_t addr = operation.source->data + offset;
  if (region.reach() == Region::Reach::file) {
    return read_through(region, addr, size);
  }
  drop_from_caches(region.at(addr), size);
  return Status::success;
}

}  // namespace pydoca::sim
