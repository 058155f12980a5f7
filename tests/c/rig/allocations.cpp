#include "rig/allocations.h"

#include "rig/allocation_counter.hpp"

std::size_t allocations() { return pydoca::num_allocations(); }
