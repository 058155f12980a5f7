#pragma once

#include "pydoca/segment.hpp"

#include "backend/sim/copy/copy.hpp"
#include "backend/sim/memory/region.hpp"

#include <cstddef>
#include <cstdint>

namespace pydoca::sim {

/// Bytes of this process that no device has registered.
class Bytes final : public Region {
 public:
  Bytes(std::byte* bytes, std::uint64_t size) noexcept {
    readable_ = writable_ = true;
    base_ = reinterpret_cast<std::uint64_t>(bytes);
    len_ = size;
    local_ = bytes;
  }
  std::uint64_t addr() const noexcept { return base_; }
};

/// Whether the device may read the data sections of a list of at most max_len elements, which have length bytes.
bool can_gather(const Segment* list, std::uint64_t length, std::size_t ordinal, std::uint32_t max_len) noexcept;
/// Whether it may write to the tailrooms, and they have room for length bytes.
bool can_scatter(const Segment* list, std::uint64_t length, std::size_t ordinal, std::uint32_t max_len) noexcept;

// Copy bytes [offset, offset + size) of a list that was checked by can_gather() or can_scatter(). io_failed when memory
// was withdrawn.
Status gather(const Segment* list, std::size_t ordinal, std::uint64_t offset, const Region& to, std::uint64_t addr,
              std::uint64_t size) noexcept;
Status scatter(const Region& from, std::uint64_t addr, const Segment* list, std::size_t ordinal, std::uint64_t offset,
               std::uint64_t size) noexcept;

}  // namespace pydoca::sim
