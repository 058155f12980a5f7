#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace pydoca::sim {

/// The two ends of an exported counter; several importers are one side.
enum class CounterSide : std::uint8_t { owner = 0, importer = 1 };

/// Which sides of a counter have somebody asleep, in a page that all of them map. Dekker's pattern: who changes the
/// counter writes it, then asks take() for each side; who is about to sleep arms its side, then looks at the counter
/// again; all of it sequentially consistent. One flag for all sleepers of a side: the wake-up reaches each of them, and
/// who goes on sleeping arms again.
class Bell {
 public:
  void arm(CounterSide side) noexcept { flag(side).store(1, std::memory_order_seq_cst); }
  /// Whether somebody must be woken; true once for each time that the side was armed.
  bool take(CounterSide side) noexcept {
    return flag(side).load(std::memory_order_seq_cst) != 0 && flag(side).exchange(0, std::memory_order_seq_cst) != 0;
  }

 private:
  std::atomic<std::uint32_t>& flag(CounterSide side) noexcept { return armed_[static_cast<std::size_t>(side)]; }

  std::array<std::atomic<std::uint32_t>, 2> armed_{};
};

/// What a counter's processes share besides the counter.
struct AlarmPage {
  Bell bell;
  std::atomic<std::uint32_t> silent{0};  ///< 1: the memory is the user's and may change without the bell
};

static_assert(std::atomic<std::uint32_t>::is_always_lock_free && std::is_standard_layout_v<AlarmPage>);

}  // namespace pydoca::sim
