#pragma once

#include "detail/thread/atomic.hpp"
#include "detail/thread/crash_point.hpp"

#include <cstdint>
#include <type_traits>

namespace pydoca::sim {

/// The protocol between the owner of an export and one importer, in a page that both map: accesses pass while the
/// revocation page is open, and no access follows once the owner has closed it and seen no importer inside. Dekker's
/// pattern: each side writes, then reads what the other has written, both sequentially consistent.
class RevocationPage {
 public:
  /// The importer, before touching the memory. false: withdrawn; do not touch it.
  [[gnu::always_inline]] bool enter() noexcept {
    inside_.fetch_add(1, std::memory_order_seq_cst);
    detail::crash_point();
    if (closed_.load(std::memory_order_seq_cst) == 0) {
      return true;
    }
    leave();
    return false;
  }
  void leave() noexcept {
    detail::crash_point();
    inside_.fetch_sub(1, std::memory_order_release);
  }

  enum Reason : std::uint32_t { open = 0, withdrawn = 1, owner_died = 2 };

  /// The owner, once; or the importer itself when it has seen the owner die. The first reason stays.
  void close(Reason reason = withdrawn) noexcept {
    std::uint32_t none = open;
    closed_.compare_exchange_strong(none, reason, std::memory_order_seq_cst);
  }
  Reason reason() const noexcept { return static_cast<Reason>(closed_.load(std::memory_order_acquire)); }
  bool is_closed() const noexcept { return reason() != open; }
  /// Whether no access is under way, once it is closed.
  bool is_empty() const noexcept { return inside_.load(std::memory_order_seq_cst) == 0; }

  /// The importer says that its import succeeded.
  void say_hello() noexcept { hello_.store(1, std::memory_order_release); }
  bool said_hello() const noexcept { return hello_.load(std::memory_order_acquire) != 0; }
  /// The importer says that it leaves and does not come back: the end of its connection is not a death.
  void say_goodbye() noexcept { goodbye_.store(1, std::memory_order_release); }
  bool said_goodbye() const noexcept { return goodbye_.load(std::memory_order_acquire) != 0; }

 private:
  detail::Atomic<std::uint32_t> closed_{0};
  detail::Atomic<std::uint32_t> inside_{0};
  detail::Atomic<std::uint32_t> hello_{0};
  detail::Atomic<std::uint32_t> goodbye_{0};
};

static_assert(detail::Atomic<std::uint32_t>::is_always_lock_free && std::is_standard_layout_v<RevocationPage>);

}  // namespace pydoca::sim
