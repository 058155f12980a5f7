#pragma once

#include <cstdint>

namespace pydoca::backend {
class MemoryRegion;
}

#pragma GCC visibility push(default)

namespace pydoca {

/// One element of a scatter-gather list, as queues read it. A Buf is one. Addresses are those of the process that owns
/// the memory: [head, head + len) is the element, [data, data + data_len) its data, and the tailroom follows the data.
struct Segment {
  backend::MemoryRegion* const* regions = nullptr;  ///< one per Device::ordinal(); null where the map lacks the device
  std::uint64_t head = 0;
  std::uint64_t len = 0;  ///< bytes
  std::uint64_t data = 0;
  std::uint64_t data_len = 0;  ///< bytes
  Segment* next = nullptr;     ///< null at the end of the list

  std::uint64_t tail() const noexcept { return data + data_len; }
  std::uint64_t tailroom() const noexcept { return head + len - tail(); }
};

}  // namespace pydoca

#pragma GCC visibility pop
