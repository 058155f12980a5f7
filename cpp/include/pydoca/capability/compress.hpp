#pragma once

#include "pydoca/capability/field.hpp"

#include <cstdint>
#include <tuple>

#pragma GCC visibility push(default)

namespace pydoca {

struct CompressCapabilities {
  std::uint64_t decompress_deflate_max_buf_size = 0;      ///< bytes of src that one task can expand; 0: no such tasks
  std::uint32_t decompress_deflate_max_buf_list_len = 0;  ///< elements of src, and of dst; 1: no lists
  std::uint32_t max_num_tasks = 0;                        ///< one context's limit for all kinds together

  static constexpr const char* name = "CompressCapabilities";
  static constexpr const char* says =
      "The limits of a compression engine: bytes of a task's source, elements of a list (1: no lists), tasks of a "
      "context.";
  static constexpr auto fields() noexcept {
    using T = CompressCapabilities;
    return std::tuple{Field{"decompress_deflate_max_buf_size", &T::decompress_deflate_max_buf_size,
                            "The most bytes of DEFLATE data that one task can expand."},
                      Field{"decompress_deflate_max_buf_list_len", &T::decompress_deflate_max_buf_list_len,
                            "The most elements of a list of bufs; 1: no lists."},
                      Field{"max_num_tasks", &T::max_num_tasks, "The most tasks that a context can have."}};
  }
};

}  // namespace pydoca

#pragma GCC visibility pop
