#pragma once

#include <cstdint>

namespace pydoca {

/// Allocations by operator new so far, of every thread of an executable that is linked with allocation_counter.cpp.
std::uint64_t num_allocations() noexcept;

}  // namespace pydoca
