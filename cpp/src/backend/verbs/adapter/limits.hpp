#pragma once

#include "backend/verbs/library/library.hpp"

#include <algorithm>
#include <cstdint>

/// What the queues of an adapter have in common.
namespace pydoca::verbs {

/// Lists longer than this make every entry of a queue larger, and drivers then have fewer of them than they say.
inline constexpr int max_list_len = 16;

inline std::uint32_t list_len_of(const ibv_device_attr& limits) noexcept {
  return static_cast<std::uint32_t>(std::clamp(limits.max_sge, 1, max_list_len));
}

/// Both ends of a queue pair complete into one queue, which also has room for others.
inline std::uint32_t queue_size_of(const ibv_device_attr& limits, int others) noexcept {
  constexpr int entries_per_list = 8;
  const int room = (limits.max_cqe - others) / 2;
  return static_cast<std::uint32_t>(std::max(1, std::min(limits.max_qp_wr / entries_per_list, room)));
}

}  // namespace pydoca::verbs
