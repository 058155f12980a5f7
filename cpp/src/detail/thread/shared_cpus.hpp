#pragma once

#include "pydoca/cpus.hpp"

#include <atomic>
#include <cstdint>
#include <type_traits>

namespace pydoca::detail {

/// Where a thread says on which CPUs it may run, also in memory that processes share. The word is a hint: it orders
/// nothing, and a wrong one costs time only. The models (detail/thread/atomic.hpp) therefore do not count it as a step.
class SharedCpus {
 public:
  Cpus load() const noexcept { return Cpus::from_word(word_.load(std::memory_order_relaxed)); }
  /// Writes only a change: those who read keep their copy of the cache line.
  void store(Cpus cpus) noexcept {
    if (word_.load(std::memory_order_relaxed) != cpus.word()) {
      word_.store(cpus.word(), std::memory_order_relaxed);
    }
  }
  /// Takes what was said; nothing is known afterwards.
  Cpus take() noexcept {
    const Cpus cpus = load();
    store(Cpus());
    return cpus;
  }

 private:
  std::atomic<std::uint16_t> word_{0};
};

static_assert(std::atomic<std::uint16_t>::is_always_lock_free && std::is_standard_layout_v<SharedCpus>);

}  // namespace pydoca::detail
