#pragma once

#include "pydoca/backend/queue.hpp"
#include "pydoca/segment.hpp"

#include "backend/sim/memory/region.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace pydoca::sim {

/// The limits that the copy engine of one device enforces when it executes an operation, as the card does.
struct CopyLimits {
  std::size_t ordinal = 0;
  std::uint64_t max_size = 0;
  std::uint32_t max_list_len = 0;
};

/// io_failed when the device would refuse the operation: no data, too much of it, lists too long, memory it cannot
/// reach or may not access, tailroom too small.
Status check_copy(const backend::DataOperation& operation, const CopyLimits& limits) noexcept;

/// Whether neither end is a list.
inline bool is_plain(const backend::DataOperation& operation) noexcept {
  return operation.source != nullptr && operation.target != nullptr && operation.source->next == nullptr &&
         operation.target->next == nullptr;
}

inline const Region* region_of(const Segment& segment, std::size_t ordinal) noexcept {
  return static_cast<const Region*>(segment.regions[ordinal]);
}

inline bool readable(const Segment& segment, std::size_t ordinal) noexcept {
  const Region* region = region_of(segment, ordinal);
  return region != nullptr && region->readable() && region->contains(segment.data, segment.data_len);
}

inline bool writable(const Segment& segment, std::size_t ordinal) noexcept {
  const Region* region = region_of(segment, ordinal);
  return region != nullptr && region->writable() && region->contains(segment.tail(), segment.tailroom());
}

/// One run of bytes that is contiguous at both ends. io_failed when the memory's owner has withdrawn it or is gone, or
/// a mapped file has been cut short.
Status copy_run(const Region& src, std::uint64_t from, const Region& dst, std::uint64_t to, std::uint64_t size,
                bool streaming) noexcept;

/// Does at 0.3 of the cost of check_copy() and copy_piece() what most operations are: a plain one between memory of
/// this process, of 1 to max_size bytes. False, and nothing is copied, if it is another, or would be refused.
inline bool copy_at_once(const backend::DataOperation& operation, std::size_t ordinal) noexcept {
  if (!is_plain(operation)) {
    return false;
  }
  const Segment& src = *operation.source;
  const Segment& dst = *operation.target;
  const Region* const from = region_of(src, ordinal);
  const Region* const to = region_of(dst, ordinal);
  if (from == nullptr || to == nullptr || operation.length > dst.tailroom() ||
      !from->can_load(src.data, src.data_len) || !to->can_store(dst.tail(), dst.tailroom())) [[unlikely]] {
    return false;
  }
  std::memcpy(to->at(dst.tail()), from->at(src.data), operation.length);
  return true;
}

/// check_copy() and copy_piece() in one for a whole plain operation.
Status copy_plain(const backend::DataOperation& operation, const CopyLimits& limits) noexcept;

/// Copies bytes [offset, offset + size) of a checked operation. streaming: around the cache. io_failed when the
/// memory's owner has withdrawn it or is gone.
Status copy_piece(const backend::DataOperation& operation, std::size_t ordinal, std::uint64_t offset,
                  std::uint64_t size, bool streaming) noexcept;

}  // namespace pydoca::sim
