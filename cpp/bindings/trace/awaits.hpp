/// What traces record of Python's awaits.
#pragma once

#include <pydoca/trace.hpp>

#include "convert/pybind.hpp"

#include <cstdint>

namespace pydoca::bindings {

/// A wait of a coroutine that a trace records.
struct TracedWait {
  std::uint64_t begin = 0;  ///< 0: no trace records it
  std::uint32_t coroutine = 0;
};

/// The coroutine that runs now begins to wait. A frame that pydoca's own modules run counts as its caller.
TracedWait begin_traced_wait() noexcept;
/// The coroutine has its result. id: what it waited for.
void end_traced_wait(const TracedWait& wait, std::uint64_t id) noexcept;

}  // namespace pydoca::bindings
