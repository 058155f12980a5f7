#include "pydoca/interrupt.hpp"

#include <atomic>

namespace pydoca {

namespace {

std::atomic<InterruptCheck> installed{nullptr};
std::atomic<BlockingRunner> runner_installed{nullptr};

}  // namespace

void set_interrupt_check(InterruptCheck check) noexcept { installed.store(check, std::memory_order_release); }

bool interrupted() noexcept {
  const InterruptCheck check = installed.load(std::memory_order_acquire);
  return check != nullptr && check();
}

void set_blocking_runner(BlockingRunner runner) noexcept { runner_installed.store(runner, std::memory_order_release); }

void run_blocking(void (*call)(void*) noexcept, void* argument) noexcept {
  const BlockingRunner runner = runner_installed.load(std::memory_order_acquire);
  runner != nullptr ? runner(call, argument) : call(argument);
}

}  // namespace pydoca
