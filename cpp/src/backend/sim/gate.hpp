#pragma once

#include <atomic>
#include <cstdint>
#include <type_traits>

namespace pydoca::sim {

/// The protocol between the owner of an export and one importer, in a page that both map: accesses pass while the gate
/// is open, and an owner that has closed it and seen nobody inside knows that no access follows. Dekker's pattern: each
/// side writes, then reads the other's word, both sequentially consistent.
class Gate {
 public:
  /// The importer, before touching the memory. false: withdrawn; do not touch it.
  bool enter() noexcept {
    inside_.fetch_add(1, std::memory_order_seq_cst);
    if (closed_.load(std::memory_order_seq_cst) == 0) {
      return true;
    }
    leave();
    return false;
  }
  void leave() noexcept { inside_.fetch_sub(1, std::memory_order_release); }

  /// The owner, once; or the importer itself when it has seen the owner die.
  void close() noexcept { closed_.store(1, std::memory_order_seq_cst); }
  bool is_closed() const noexcept { return closed_.load(std::memory_order_acquire) != 0; }
  /// After close(): whether no access is under way.
  bool is_empty() const noexcept { return inside_.load(std::memory_order_seq_cst) == 0; }

 private:
  std::atomic<std::uint32_t> closed_{0};
  std::atomic<std::uint32_t> inside_{0};
};

static_assert(std::atomic<std::uint32_t>::is_always_lock_free && std::is_standard_layout_v<Gate>);

}  // namespace pydoca::sim
