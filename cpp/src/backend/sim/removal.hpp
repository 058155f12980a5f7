#pragma once

#include "pydoca/backend.hpp"

#include <atomic>
#include <mutex>
#include <vector>

namespace pydoca::sim {

/// That a function is pulled out, which happens once, and who wants to be told of it. From any thread.
class Removal {
 public:
  const std::atomic<bool>& happened() const noexcept { return happened_; }
  void happen() noexcept {
    happened_.store(true, std::memory_order_release);
    const std::lock_guard lock(mutex_);
    for (backend::Doorbell* const doorbell : watchers_) {
      doorbell->ring_from_any_thread();
    }
  }

  /// Rings at once when it has happened before.
  void watch(backend::Doorbell& doorbell) {
    const std::lock_guard lock(mutex_);
    watchers_.push_back(&doorbell);
    if (happened_.load(std::memory_order_acquire)) {
      doorbell.ring_from_any_thread();
    }
  }
  void unwatch(backend::Doorbell& doorbell) noexcept {
    const std::lock_guard lock(mutex_);
    std::erase(watchers_, &doorbell);
  }

 private:
  std::atomic<bool> happened_{false};
  std::mutex mutex_;
  std::vector<backend::Doorbell*> watchers_;
};

}  // namespace pydoca::sim
