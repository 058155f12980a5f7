#pragma once

#include <cstddef>

namespace pydoca::detail {

/// memcpy that answers false, with part of the bytes copied, where memory of either end is not there: a mapped file has
/// no pages beyond its end, and memcpy would end the process by SIGBUS. It costs a system call, about a microsecond.
/// Where the system forbids this call (some containers do), it is memcpy. Memory that a driver maps is refused.
bool copy_guarded(std::byte* dst, const std::byte* src, std::size_t size) noexcept;

/// Whether a byte can be read by copy_guarded().
bool is_there(const std::byte* byte) noexcept;

}  // namespace pydoca::detail
