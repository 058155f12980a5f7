#include "pydoca/interrupt.hpp"

#include <atomic>

namespace pydoca {

namespace {

std::atomic<InterruptCheck> installed{nullptr};

}  // namespace

void set_interrupt_check(InterruptCheck check) noexcept { installed.store(check, std::memory_order_release); }

bool interrupted() noexcept {
  const InterruptCheck check = installed.load(std::memory_order_acquire);
  return check != nullptr && check();
}

}  // namespace pydoca
