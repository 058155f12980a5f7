#pragma once

#include "pydoca/capability/field.hpp"

#include <cstdint>
#include <tuple>

#pragma GCC visibility push(default)

namespace pydoca {

struct MmapAdviseCapabilities {
  std::uint64_t max_buf_size = 0;   ///< bytes of which one task can invalidate the cache
  std::uint32_t max_num_tasks = 0;  ///< the limit of one context

  static constexpr const char* name = "MmapAdviseCapabilities";
  static constexpr const char* says = "The limits of the invalidation of a cache: bytes per task, tasks of a context.";
  static constexpr auto fields() noexcept {
    using T = MmapAdviseCapabilities;
    return std::tuple{
        Field{"max_buf_size", &T::max_buf_size, "The most bytes of which one task can invalidate the cache."},
        Field{"max_num_tasks", &T::max_num_tasks, "The most tasks that a context can have."}};
  }
};

}  // namespace pydoca

#pragma GCC visibility pop
