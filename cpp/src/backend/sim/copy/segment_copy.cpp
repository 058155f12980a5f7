#include "backend/sim/copy/segment_copy.hpp"

#include <algorithm>

namespace pydoca::sim {

namespace {

std::uint64_t data_of(const Segment& segment) noexcept { return segment.data_len; }
std::uint64_t tailroom_of(const Segment& segment) noexcept { return segment.tailroom(); }

/// Calls copy with each run of a list's bytes: the segment, the offset in its section, and how many.
template <class Size, class Copy>
Status for_each_run(const Segment* list, Size size_of, std::uint64_t offset, std::uint64_t size, Copy copy) noexcept {
  while (size > 0) {
    for (; offset >= size_of(*list); list = list->next) {
      offset -= size_of(*list);
    }
    const std::uint64_t run = std::min(size, size_of(*list) - offset);
    const Status status = copy(*list, offset, run);
    if (status != Status::success) {
      return status;
    }
    offset += run;
    size -= run;
  }
  return Status::success;
}

}  // namespace

bool can_gather(const Segment* list, std::uint64_t length, std::size_t ordinal, std::uint32_t max_len) noexcept {
  std::uint64_t there = 0;
  for (; list != nullptr; list = list->next) {
    if (max_len-- == 0 || !readable(*list, ordinal)) {
      return false;
    }
    there += list->data_len;
  }
  return length <= there;
}

bool can_scatter(const Segment* list, std::uint64_t length, std::size_t ordinal, std::uint32_t max_len) noexcept {
  std::uint64_t room = 0;
  for (; list != nullptr; list = list->next) {
    if (max_len-- == 0 || !writable(*list, ordinal)) {
      return false;
    }
    room += list->tailroom();
  }
  return length <= room;
}

Status gather(const Segment* list, std::size_t ordinal, std::uint64_t offset, const Region& to, std::uint64_t addr,
              std::uint64_t size) noexcept {
  return for_each_run(list, data_of, offset, size, [&](const Segment& segment, std::uint64_t skip, std::uint64_t run) {
    const Status status = copy_run(*region_of(segment, ordinal), segment.data + skip, to, addr, run, false);
    addr += run;
    return status;
  });
}

Status scatter(const Region& from, std::uint64_t addr, const Segment* list, std::size_t ordinal, std::uint64_t offset,
               std::uint64_t size) noexcept {
  return for_each_run(
      list, tailroom_of, offset, size, [&](const Segment& segment, std::uint64_t skip, std::uint64_t run) {
        const Status status = copy_run(from, addr, *region_of(segment, ordinal), segment.tail() + skip, run, false);
        addr += run;
        return status;
      });
}

}  // namespace pydoca::sim
