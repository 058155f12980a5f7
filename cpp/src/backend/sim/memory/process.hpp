#pragma once

#include "backend/sim/memory/blob.hpp"

#include <cstdint>

/// What identifies this process among all processes of all machines.
namespace pydoca::sim {

/// The kernel's random name of this boot of this machine. Throws operating_system without /proc.
Key boot_id();
/// When this process started, in clock ticks since boot; 0 without /proc.
std::uint64_t start_time();
/// A number of this process's PID namespace; 0 when /proc does not tell it.
std::uint32_t pid_namespace() noexcept;
/// From the kernel's generator. Throws operating_system.
Key random_key();

}  // namespace pydoca::sim
