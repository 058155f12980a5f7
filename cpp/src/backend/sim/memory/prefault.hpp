#pragma once

#include <cstddef>

namespace pydoca::sim {

/// Faults [addr, addr + len) in, as registering memory on a card would, and checks that it is mapped.
/// Throws invalid_value when part of it is not mapped or has nothing behind it, not_permitted when writable is asked of
/// read-only memory, no_memory, again when a signal ended it.
void prefault(std::byte* addr, std::size_t len, bool writable);

}  // namespace pydoca::sim
