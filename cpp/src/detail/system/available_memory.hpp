#pragma once

#include <cstdint>
#include <filesystem>

namespace pydoca::detail {

/// Bytes that this process can get before the kernel kills a process: the smallest of what the machine and the control
/// groups (versions 1 and 2) of this process have left, without swap. The largest number when the kernel reports none
/// of these. root: where /proc and /sys are.
std::uint64_t available_memory(const std::filesystem::path& root = "/");

}  // namespace pydoca::detail
