#pragma once

namespace pydoca {

/// Whether the calling thread may run on one CPU only, as under taskset. Looking for an event there keeps the CPU from
/// the thread that causes it, so waits sleep or yield at once. Asks the system at each call; false when it has no
/// answer.
bool has_one_cpu() noexcept;

}  // namespace pydoca
