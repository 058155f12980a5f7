#include "backend/sim/work/finished_operations.hpp"

#include <bit>

namespace pydoca::sim {

FinishedOperations::FinishedOperations(std::uint32_t depth, backend::Notifier& notifier)
    : notifier_(notifier),
      mask_(std::bit_ceil(depth) - 1),
      ring_(std::make_unique<backend::Operation*[]>(std::size_t{mask_} + 1)) {}

void FinishedOperations::add_from_any_thread(backend::DataOperation& operation, Status status) noexcept {
  workers_inside_.fetch_add(1, std::memory_order_relaxed);
  operation.outcome = status;
  if (status != Status::success) {
    break_down();
  }
  backend::Operation* top = from_workers_.load(std::memory_order_relaxed);
  do {
    operation.next = top;
  } while (!from_workers_.compare_exchange_weak(top, &operation, std::memory_order_release, std::memory_order_relaxed));
  notifier_.notify_from_any_thread();
  workers_inside_.fetch_sub(1, std::memory_order_release);
}

/// Moves what the workers have added to the ring, the oldest first.
void FinishedOperations::collect() noexcept {
  backend::Operation* newest = from_workers_.exchange(nullptr, std::memory_order_acquire);
  backend::Operation* oldest = nullptr;
  while (newest != nullptr) {
    backend::Operation* next = newest->next;
    newest->next = oldest;
    oldest = newest;
    newest = next;
  }
  for (; oldest != nullptr; oldest = oldest->next) {
    ring_[tail_++ & mask_] = oldest;
  }
}

void FinishedOperations::prefetch() const noexcept {
  const void* const far = ring_[(head_ + 8) & mask_];
  __builtin_prefetch(far);
  __builtin_prefetch(static_cast<const char*>(far) + 64);
  const auto& near = static_cast<const backend::DataOperation&>(*ring_[(head_ + 4) & mask_]);
  __builtin_prefetch(near.source);
  __builtin_prefetch(near.target);
}

}  // namespace pydoca::sim
