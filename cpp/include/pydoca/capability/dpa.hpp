#pragma once

#include "pydoca/capability/field.hpp"

#include <cstdint>
#include <tuple>

#pragma GCC visibility push(default)

namespace pydoca {

struct DpaCapabilities {
  std::uint32_t max_num_threads = 0;  ///< threads that run kernels at a time

  static constexpr const char* name = "DpaCapabilities";
  static constexpr const char* says = "The limits of a DPA: threads that run kernels at a time.";
  static constexpr auto fields() noexcept {
    using T = DpaCapabilities;
    return std::tuple{Field{"max_num_threads", &T::max_num_threads, "The most threads that run kernels at a time."}};
  }
};

}  // namespace pydoca

#pragma GCC visibility pop
