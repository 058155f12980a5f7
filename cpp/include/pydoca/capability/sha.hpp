#pragma once

#include "pydoca/capability/field.hpp"
#include "pydoca/sha_algorithm.hpp"

#include <cstdint>
#include <tuple>

#pragma GCC visibility push(default)

namespace pydoca {

struct ShaCapabilities {
  bool sha1 = false;
  bool sha256 = false;
  bool sha512 = false;
  std::uint64_t max_src_buf_size = 0;       ///< bytes that one task can hash
  std::uint32_t max_list_buf_num_elem = 0;  ///< elements of a source; 1: no lists
  std::uint32_t max_num_tasks = 0;          ///< the limit of one context

  /// Whether it computes the algorithm; false for a number that is not one.
  bool has(ShaAlgorithm algorithm) const noexcept {
    switch (algorithm) {
      case ShaAlgorithm::sha1:
        return sha1;
      case ShaAlgorithm::sha256:
        return sha256;
      case ShaAlgorithm::sha512:
        return sha512;
    }
    return false;
  }

  static constexpr const char* name = "ShaCapabilities";
  static constexpr const char* says =
      "The algorithms and limits of a SHA engine: bytes per task, elements of a source, tasks of a context.";
  static constexpr auto fields() noexcept {
    using T = ShaCapabilities;
    return std::tuple{Field{"sha1", &T::sha1, "Whether it computes SHA-1."},
                      Field{"sha256", &T::sha256, "Whether it computes SHA-256."},
                      Field{"sha512", &T::sha512, "Whether it computes SHA-512."},
                      Field{"max_src_buf_size", &T::max_src_buf_size, "Bytes that one task can hash."},
                      Field{"max_list_buf_num_elem", &T::max_list_buf_num_elem, "Elements of a source; 1: no lists."},
                      Field{"max_num_tasks", &T::max_num_tasks, "Tasks that a context can have."}};
  }
};

}  // namespace pydoca

#pragma GCC visibility pop
