#pragma once

#include "pydoca/capability/field.hpp"

#include <cstdint>
#include <tuple>

#pragma GCC visibility push(default)

namespace pydoca {

struct DmaCapabilities {
  std::uint64_t max_buf_size = 0;      ///< bytes that one task can copy
  std::uint32_t max_buf_list_len = 0;  ///< elements; 1: no lists
  std::uint32_t max_num_tasks = 0;     ///< the limit of one context

  static constexpr const char* name = "DmaCapabilities";
  static constexpr const char* says =
      "The limits of a DMA engine: bytes per task, elements of a list (1: no lists), tasks of a context.";
  static constexpr auto fields() noexcept {
    using T = DmaCapabilities;
    return std::tuple{
        Field{"max_buf_size", &T::max_buf_size, "The most bytes that one task can copy."},
        Field{"max_buf_list_len", &T::max_buf_list_len, "The most elements of a list of bufs; 1: no lists."},
        Field{"max_num_tasks", &T::max_num_tasks, "The most tasks that a context can have."}};
  }
};

}  // namespace pydoca

#pragma GCC visibility pop
