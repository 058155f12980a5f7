#pragma once

#include <cstddef>
#include <span>

namespace pydoca::detail {

/// Fills bytes, at most 256 of them, with random ones from the kernel, which cannot be guessed. Throws
/// operating_system.
void fill_with_random(std::span<std::byte> bytes);

}  // namespace pydoca::detail
