/// A call that may block releases the GIL, and signals end it.
#pragma once

#include "convert/pybind.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

namespace pydoca::bindings {

/// The code that runs Python's signal handlers.
enum class Signals : std::uint8_t {
  handled,  ///< the call itself: the exception of a handler ends the call and reaches its caller
  pending   ///< Python, later: an interrupt ends the call. Destructors, which must not raise, use it
};

/// Releases the GIL of this thread for one call of the engine. The engine's interrupt check uses it.
class BlockingCall : NotCopied {
 public:
  explicit BlockingCall(Signals signals = Signals::handled) noexcept;
  /// Takes the GIL again. A daemon thread that finds the interpreter ended blocks here for ever: if it took the GIL,
  /// CPython would unwind its C++ frames, which aborts the process.
  ~BlockingCall();

  /// The engine's InterruptCheck, for every thread.
  static bool check() noexcept;
  /// The engine's BlockingRunner: releases the GIL if this thread has it. An interrupt stays pending.
  static void run(void (*call)(void*) noexcept, void* argument) noexcept;
  /// Takes the GIL again, then throws the exception of a signal handler, if one raised.
  void end();

 private:
  void take_gil() noexcept;
  bool check_signals() noexcept;

  BlockingCall* outer_;  ///< the outer call, when a signal handler made this one
  PyThreadState* state_ = nullptr;
  std::optional<py::error_scope> raised_;  ///< the exception of a signal handler; set again at the end of this object
  const Signals signals_;
  const bool at_exit_;  ///< the thread that ends the interpreter, which may continue
};

/// Runs call, which may block, without the GIL. An exception of a signal handler takes precedence over an exception of
/// call.
template <typename Call>
void call_blocking(Call call, Signals signals = Signals::handled) {
  BlockingCall blocking(signals);
  try {
    call();
  } catch (...) {
    blocking.end();
    throw;
  }
  blocking.end();
}

/// Gives other threads the GIL while a loop is busy. CPython hands the GIL over only to a thread that has waited for a
/// whole switch interval in which no thread released it. A loop that releases it often, each time for less than a
/// wake-up takes, keeps all other threads out.
class GilSharing {
 public:
  using Clock = std::chrono::steady_clock;

  /// Whether the last turn of the other threads is long ago.
  bool is_due(Clock::time_point now) const noexcept { return now >= due_; }
  /// Sleeps for a moment, if there are other threads. Throws the exceptions of signal handlers.
  void give_way();
  /// This thread was without the GIL for that time, which may have been enough for the others.
  void was_away(Clock::time_point from, Clock::time_point to) noexcept {
    if (to - from >= 2 * wake_up) due_ = to + interval;
  }

 private:
  static constexpr std::chrono::milliseconds interval{10};
  /// A sleeping thread needs about this long to wake up and take the GIL.
  static constexpr std::chrono::microseconds wake_up{50};

  Clock::time_point due_ = Clock::now() + interval;
};

/// Lets signals end the engine's blocking calls. The module calls it once.
void install_interrupt_check() noexcept;

}  // namespace pydoca::bindings
