/// What a call that may block does to Python: it lets go of the GIL, and signals end it.
#pragma once

#include <pybind11/pybind11.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

namespace pydoca::bindings {

/// Who runs Python's signal handlers.
enum class Signals : std::uint8_t {
  handled,  ///< the call itself: what a handler raises ends it, and is what the caller sees
  pending   ///< for destructors, where nothing may be raised: an interrupt ends the call, and Python handles it later
};

/// This thread without the GIL, for one call of the engine; the engine's interrupt check looks at it.
class BlockingCall {
 public:
  explicit BlockingCall(Signals signals = Signals::handled) noexcept;
  /// Takes the GIL again. A daemon thread that finds the interpreter at its end stays here: taking the GIL then would
  /// end the thread under the feet of C++, which aborts the process.
  ~BlockingCall();
  BlockingCall(const BlockingCall&) = delete;
  BlockingCall& operator=(const BlockingCall&) = delete;

  /// The engine's InterruptCheck, for every thread.
  static bool check() noexcept;
  /// Takes the GIL again, then throws what a signal handler has raised, if one has.
  void end();

 private:
  void take_gil() noexcept;
  bool look() noexcept;

  BlockingCall* outer_;  ///< the call during which a signal handler made this one
  PyThreadState* state_ = nullptr;
  std::optional<pybind11::error_scope> raised_;  ///< what a signal handler raised; set again at its end
  const Signals signals_;
  const bool at_exit_;  ///< the thread that ends the interpreter, and may go on
};

/// Calls what may block without the GIL. What a signal handler raised meanwhile stands above what call throws.
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

/// Lets other threads have the GIL while a loop is busy. CPython gives it up only for one who has waited for a whole
/// switch interval during which nobody let go of it: a loop that lets go often, and each time for less than a wake-up
/// takes, keeps everybody else out for good.
class GilSharing {
 public:
  using Clock = std::chrono::steady_clock;

  /// Whether the others' last turn is long ago.
  bool is_due(Clock::time_point now) const noexcept { return now >= due_; }
  /// Sleeps for a moment, if there are others. Throws what a signal handler raised.
  void give_way();
  /// This thread was without the GIL for that time, which may have been enough for the others.
  void was_away(Clock::time_point from, Clock::time_point to) noexcept {
    if (to - from >= 2 * wake_up) due_ = to + interval;
  }

 private:
  static constexpr std::chrono::milliseconds interval{10};
  /// A thread that sleeps needs about so long to come and take the GIL.
  static constexpr std::chrono::microseconds wake_up{50};

  Clock::time_point due_ = Clock::now() + interval;
};

/// Lets signals end the engine's blocking calls; once, by the module.
void install_interrupt_check() noexcept;

}  // namespace pydoca::bindings
