#pragma once

#include "detail/fd.hpp"

namespace pydoca::sim {

/// A socket of the fabric, which a forked child does not keep. Otherwise peers would not notice the death of this
/// process, nor could a successor take its address, as long as the child lives.
detail::Fd own_socket(int fd) noexcept;

}  // namespace pydoca::sim
