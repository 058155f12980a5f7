#pragma once

#include <sys/types.h>

namespace pydoca::sim {

/// Whether a thread, or a process's first thread, has memory: one that ends gives it up first. The kernel tells any
/// process, whatever it may read of that memory.
bool has_memory(pid_t thread) noexcept;

/// Whether a process has ended or is ending: none of its threads has memory any more. The kernel frees a process's
/// memory first and closes its sockets, and makes its pidfd readable, only afterwards: with much memory, seconds later.
/// False for pid 0, which is a process that this PID namespace does not show, and without a /proc of this namespace:
/// the end of the connection tells then.
bool has_ended(pid_t process) noexcept;

}  // namespace pydoca::sim
