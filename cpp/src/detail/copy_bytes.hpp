#pragma once

#include <cstddef>

namespace pydoca::detail {

/// Whether stores that bypass the cache are available on this processor.
bool can_stream() noexcept;

/// memcpy for more data than the cache holds: stores bypass the cache, which saves reading the destination first.
/// Faster than memcpy above the cache's size, several times slower below.
void copy_streaming(std::byte* dst, const std::byte* src, std::size_t size) noexcept;

}  // namespace pydoca::detail
