/// How a signal ends calls that block, and what the application lets go of meanwhile. The engine knows nothing of the
/// application's signals and locks: it asks.
#pragma once

#include <chrono>
#include <memory>
#include <type_traits>

#pragma GCC visibility push(default)

namespace pydoca {

/// true: a signal wants the thread; the wait ends. Called in the thread that waits, which then holds no lock.
using InterruptCheck = bool (*)() noexcept;

/// For the whole process, from any thread; nullptr, the default, for none: waits end by their time limits alone.
void set_interrupt_check(InterruptCheck check) noexcept;

/// What the check says; false without one. A call that ends because of it throws or returns Status::again, and can be
/// repeated.
[[nodiscard]] bool interrupted() noexcept;

/// A wait asks at least this often.
inline constexpr std::chrono::milliseconds interrupt_slice{10};

/// Calls call(argument), which may block although the function that the thread is in does not block as a rule: the
/// application lets go of what others need meanwhile, such as an interpreter's lock.
using BlockingRunner = void (*)(void (*call)(void*) noexcept, void* argument) noexcept;

/// For the whole process, from any thread; nullptr, the default: it is called as it is.
void set_blocking_runner(BlockingRunner runner) noexcept;
void run_blocking(void (*call)(void*) noexcept, void* argument) noexcept;

/// The same for a function object, which must not throw.
template <class Call>
void run_blocking(Call&& call) noexcept {
  run_blocking([](void* argument) noexcept { (*static_cast<std::remove_reference_t<Call>*>(argument))(); },
               std::addressof(call));
}

}  // namespace pydoca

#pragma GCC visibility pop
