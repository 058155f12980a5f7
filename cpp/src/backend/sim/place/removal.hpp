#pragma once

#include "pydoca/backend/notifier.hpp"

#include "detail/thread/thread_token.hpp"

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

namespace pydoca::sim {

/// Whether a function was pulled out, which happens once, and the notifiers to tell. Any thread may use it.
class Removal {
 public:
  const std::atomic<bool>& happened() const noexcept { return happened_; }
  void happen() noexcept {
    happened_.store(true, std::memory_order_release);
    const std::lock_guard lock(mutex_);
    for (const Watcher& watcher : watchers_) {
      if (watcher.forks == detail::fork_count()) {
        watcher.notifier->notify_from_any_thread();
      }
    }
  }

  /// Notifies at once when it has happened before.
  void watch(backend::Notifier& notifier) {
    const std::lock_guard lock(mutex_);
    watchers_.push_back({&notifier, detail::fork_count()});
    if (happened_.load(std::memory_order_acquire)) {
      notifier.notify_from_any_thread();
    }
  }
  void unwatch(backend::Notifier& notifier) noexcept {
    const std::lock_guard lock(mutex_);
    std::erase_if(watchers_, [&](const Watcher& watcher) { return watcher.notifier == &notifier; });
  }

 private:
  /// A notifier and the process that watches: a forked child does not notify its parent's notifiers, which it may have
  /// destroyed.
  struct Watcher {
    backend::Notifier* notifier;
    std::uint32_t forks;
  };

  std::atomic<bool> happened_{false};
  std::mutex mutex_;
  std::vector<Watcher> watchers_;
};

}  // namespace pydoca::sim
