#pragma once

#include "detail/thread/thread_token.hpp"

#include <atomic>
#include <concepts>
#include <cstdint>
#include <memory>

namespace pydoca::detail {

/// The one T of a process. A forked child makes its own, as T(its parent's) or T(), since another thread of the parent
/// may have held the lock of the parent's. It is never destroyed: objects that use it may outlive static destructors.
template <class T>
class PerProcess {
 public:
  /// Any thread may call. Throws what the constructor of T throws.
  static T& instance() {
    static std::atomic<PerProcess*> current{nullptr};
    PerProcess* known = current.load(std::memory_order_acquire);
    if (known != nullptr && known->forks_ == fork_count()) {
      return known->object_;
    }
    std::unique_ptr<PerProcess> fresh(new PerProcess(known));
    return current.compare_exchange_strong(known, fresh.get(), std::memory_order_acq_rel) ? fresh.release()->object_
                                                                                          : known->object_;
  }

 private:
  explicit PerProcess(PerProcess* inherited) : object_(made_after(inherited)), inherited_(inherited) {}
  static T made_after(PerProcess* inherited) {
    if constexpr (std::constructible_from<T, T*>) {
      return T(inherited != nullptr ? &inherited->object_ : nullptr);
    } else {
      return T();
    }
  }

  T object_;
  const std::uint32_t forks_ = fork_count();
  PerProcess* const inherited_;  ///< kept reachable
};

}  // namespace pydoca::detail
