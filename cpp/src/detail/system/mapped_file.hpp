#pragma once

#include <cstddef>

namespace pydoca::detail {

/// Whether part of a range of this process's memory is a mapped file, which can be cut short at any time; memory that
/// processes share without a file is not one. False where /proc does not tell. maps: what describes this process's
/// memory, in the form of that file.
bool has_mapped_file(const std::byte* addr, std::size_t len, const char* maps = "/proc/self/maps") noexcept;

}  // namespace pydoca::detail
