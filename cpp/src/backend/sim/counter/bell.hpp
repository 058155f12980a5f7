#pragma once

#include "detail/atomic.hpp"
#include "detail/crash_point.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace pydoca::sim {

/// The two ends of an exported counter; several importers are one side.
enum class CounterSide : std::uint8_t { owner = 0, importer = 1 };

/// Which sides of a counter sleep, in a page that all of its processes map. Dekker's pattern: a process that changes
/// the counter writes it, then asks take() for each side; a process that goes to sleep arms its side, then reads the
/// counter again; all of it sequentially consistent. All sleepers of a side share one flag: the wake-up reaches each of
/// them, and a process that sleeps on arms again.
class Bell {
 public:
  void arm(CounterSide side) noexcept {
    flag(side).store(1, std::memory_order_seq_cst);
    detail::crash_point();
  }
  /// Whether the side must be woken; true once for each time that it was armed.
  bool take(CounterSide side) noexcept {
    return flag(side).load(std::memory_order_seq_cst) != 0 && flag(side).exchange(0, std::memory_order_seq_cst) != 0;
  }

 private:
  detail::Atomic<std::uint32_t>& flag(CounterSide side) noexcept { return armed_[static_cast<std::size_t>(side)]; }

  std::array<detail::Atomic<std::uint32_t>, 2> armed_{};
};

/// What a counter's processes share besides the counter.
struct AlarmPage {
  Bell bell;
  detail::Atomic<std::uint32_t> silent{0};  ///< 1: the memory is the user's and may change without the bell
};

static_assert(detail::Atomic<std::uint32_t>::is_always_lock_free && std::is_standard_layout_v<AlarmPage>);

}  // namespace pydoca::sim
