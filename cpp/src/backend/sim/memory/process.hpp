#pragma once

#include "backend/sim/memory/blob.hpp"

#include <cstdint>
#include <sys/types.h>

/// What identifies this process among all processes of all machines.
namespace pydoca::sim {

/// The kernel's random name of this boot of this machine. Throws operating_system without /proc.
Key boot_id();
/// When this process started, in clock ticks since boot. Throws operating_system without /proc.
std::uint64_t start_time();
/// The same of any process. Throws not_found also when there is none.
std::uint64_t start_time(pid_t process);
/// A number of this process's PID namespace; 0 when /proc does not tell it.
std::uint32_t pid_namespace() noexcept;
/// A key from the kernel's generator. Throws operating_system.
Key random_key();

}  // namespace pydoca::sim
