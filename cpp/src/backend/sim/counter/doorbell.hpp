#pragma once

#include "detail/thread/atomic.hpp"
#include "detail/thread/crash_point.hpp"
#include "detail/thread/shared_cpus.hpp"

#include <cstdint>
#include <type_traits>

namespace pydoca::sim {

/// How the owner of a counter and one of its importers wake each other, in a page that both map. Dekker's pattern: a
/// process that changes the counter writes it, then asks take_owner() or take_importer(); a process that goes to sleep
/// arms, then reads the counter again; all of it sequentially consistent. A change by one importer reaches the others
/// through the owner, which is asked for that while one of them sleeps at times.
class Doorbell {
 public:
  void arm_owner() noexcept {
    owner_sleeps_.store(1, std::memory_order_seq_cst);
    detail::crash_point();
  }
  void arm_importer() noexcept {
    importer_sleeps_.store(1, std::memory_order_seq_cst);
    detail::crash_point();
  }
  /// Whether the other side must be woken; true once for each time that it was armed.
  bool take_owner() noexcept { return take(owner_sleeps_); }
  bool take_importer() noexcept { return take(importer_sleeps_); }

  /// The owner: other importers sleep at times.
  void set_crowded() noexcept { crowded_.store(1, std::memory_order_seq_cst); }
  /// The importer has changed the counter: whether the owner must be asked to wake the others.
  bool ask_to_relay() noexcept {
    return crowded_.load(std::memory_order_seq_cst) != 0 && relay_.exchange(1, std::memory_order_seq_cst) == 0;
  }
  /// The owner, before it wakes the others; the importer, when it could not ask.
  void clear_relay() noexcept { relay_.store(0, std::memory_order_seq_cst); }

  /// The importer sleeps at times.
  void set_sleeper() noexcept { sleeper_.store(1, std::memory_order_seq_cst); }
  bool is_sleeper() const noexcept { return sleeper_.load(std::memory_order_seq_cst) != 0; }

  /// The memory is the user's and may change without the doorbell.
  void set_silent() noexcept { silent_.store(1, std::memory_order_relaxed); }
  bool is_silent() const noexcept { return silent_.load(std::memory_order_relaxed) != 0; }

  /// Where each side changes the counter: said by a thread before it wakes the other side, and by one that waits.
  detail::SharedCpus& owner_cpus() noexcept { return owner_cpus_; }
  detail::SharedCpus& importer_cpus() noexcept { return importer_cpus_; }

 private:
  static bool take(detail::Atomic<std::uint32_t>& flag) noexcept {
    return flag.load(std::memory_order_seq_cst) != 0 && flag.exchange(0, std::memory_order_seq_cst) != 0;
  }

  detail::Atomic<std::uint32_t> owner_sleeps_{0};
  detail::Atomic<std::uint32_t> importer_sleeps_{0};
  detail::Atomic<std::uint32_t> crowded_{0};
  detail::Atomic<std::uint32_t> relay_{0};  ///< 1: the owner was asked, and has not begun yet
  detail::Atomic<std::uint32_t> sleeper_{0};
  detail::Atomic<std::uint32_t> silent_{0};
  detail::SharedCpus owner_cpus_;
  detail::SharedCpus importer_cpus_;
};

static_assert(detail::Atomic<std::uint32_t>::is_always_lock_free && std::is_standard_layout_v<Doorbell>);

}  // namespace pydoca::sim
