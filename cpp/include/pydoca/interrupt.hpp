/// How a signal ends calls that block. The engine knows nothing of the application's signals: it asks.
#pragma once

#include <chrono>

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

}  // namespace pydoca
