#pragma once

#include "pydoca/backend/notifier.hpp"
#include "pydoca/backend/queue.hpp"

#include "detail/thread/atomic.hpp"

#include <cstdint>
#include <memory>

namespace pydoca::sim {

/// The finished operations of one queue, until poll() returns them. The queue's own thread adds to a ring; the
/// engine's workers add to a lock-free list, which the own thread empties.
class FinishedOperations {
 public:
  /// depth: the operations that may be outstanding. Throws std::bad_alloc.
  FinishedOperations(std::uint32_t depth, backend::Notifier& notifier);
  FinishedOperations(const FinishedOperations&) = delete;
  FinishedOperations& operator=(const FinishedOperations&) = delete;

  // Any thread.
  /// Whether an operation has failed, or the queue was aborted: what has not begun must not begin.
  bool broken() const noexcept { return broken_.load(std::memory_order_acquire); }
  void break_down() noexcept { broken_.store(true, std::memory_order_release); }
  /// Any status but success breaks the queue.
  void add_from_any_thread(backend::DataOperation& operation, Status status) noexcept;

  // The queue's own thread.
  void add(backend::DataOperation& operation, Status status) noexcept {
    operation.outcome = status;
    if (status != Status::success) [[unlikely]] {
      break_down();
    }
    ring_[tail_++ & mask_] = &operation;
    notifier_.notify();
  }
  /// The next operation, or null. more tells whether another one is waiting.
  backend::Operation* take(bool& more) noexcept {
    if (head_ == tail_) {
      if (from_workers_.load(std::memory_order_relaxed) == nullptr) {
        return nullptr;
      }
      collect();
    }
    if (tail_ - head_ > many) [[unlikely]] {
      prefetch();
    }
    backend::Operation* const operation = ring_[head_++ & mask_];
    more = head_ != tail_ || from_workers_.load(std::memory_order_relaxed) != nullptr;
    return operation;
  }
  /// Whether a worker is still adding an operation, which take() may have returned already.
  bool is_being_added_to() const noexcept { return workers_inside_.load(std::memory_order_acquire) != 0; }

 private:
  /// With so many finished, those at the end have left the caches by the time it is their turn: fetched ahead, a task
  /// of 65536 in flight costs half.
  static constexpr std::uint32_t many = 1024;

  void collect() noexcept;
  void prefetch() const noexcept;

  backend::Notifier& notifier_;
  // A ring of at least depth places, not a list: later operations can be fetched before their turn.
  const std::uint32_t mask_;
  const std::unique_ptr<backend::Operation*[]> ring_;
  std::uint32_t head_ = 0;
  std::uint32_t tail_ = 0;
  detail::Atomic<bool> broken_{false};
  alignas(64) detail::Atomic<backend::Operation*> from_workers_{nullptr};
  detail::Atomic<std::uint32_t> workers_inside_{0};
};

}  // namespace pydoca::sim
