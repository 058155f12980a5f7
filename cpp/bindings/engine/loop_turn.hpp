#pragma once

#include "convert/pybind.hpp"
#include "engine/deliveries.hpp"
#include "loop/blocking_call.hpp"
#include "loop/bound_loop.hpp"
#include "loop/patience.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pydoca::bindings {

/// What an engine in an event loop trades for speed.
enum class Latency : std::uint8_t {
  low,       ///< always looks for a while before it sleeps
  balanced,  ///< looks for as long as looking pays
  power,     ///< sleeps at once
};
/// Parses name, else the environment's PYDOCA_LATENCY, else returns balanced. Throws InvalidValueError for another
/// word.
Latency parse_latency(const std::optional<std::string>& name);
std::string_view name_of(Latency latency) noexcept;

/// The times within which a turn of the event loop does some things. In virtual time, which real time must not
/// influence, it does them each time.
struct Rhythm {
  std::chrono::nanoseconds budget;               ///< how long awaits may complete at once
  std::chrono::nanoseconds between_descriptors;  ///< looks at sources that announce themselves by descriptors

  static Rhythm now() noexcept;
};

/// The work of an engine in a turn of its event loop. Awaits may do some of it at once instead of waiting for the next
/// turn. They share a time budget, which the next turn renews; the first of them schedules that turn. When the loop has
/// nothing else to do in that turn, the turn is skipped: the budget is renewed at once, and an await with nothing to
/// look at sleeps in the loop's place. Every member needs the GIL.
class LoopTurn {
 public:
  using Clock = std::chrono::steady_clock;

  LoopTurn(Deliveries& engine, Latency latency);

  BoundLoop& loop() noexcept { return loop_; }
  Latency latency() const noexcept { return latency_; }

  /// Binds the engine, whose Python object has a method _turn, to loop, which runs in this thread.
  void enter_loop(const py::object& loop, const py::object& engine);
  /// Schedules a call in the loop's next turn, unless one is due already, or no loop is open.
  void kick();
  /// The call that kick() scheduled, or that the engine's handle caused: delivers what is there. Throws the exceptions
  /// of callbacks and signal handlers, and the engine's refusal in a forked child, which ends the turns.
  void run(bool woken);
  bool is_due() const noexcept { return static_cast<bool>(due_); }
  /// Whether nothing but the coroutine that runs could go on: no other one of the loop would wait for it in vain.
  bool is_alone() const { return loop_.stock() && is_skippable(*loop_.stock()); }

  /// Schedules the next turn for an await, and starts the time budget of this one.
  void begin();
  // For an await of a task, by the count of the task's completions.
  /// Progresses the engine until completions changes, or the budget or patience is used up. Returns whether it has
  /// changed.
  bool progress_until(const std::uint64_t& completions);
  /// When the loop would only sleep: sleeps in its place until completions changes, or the loop has work, or some
  /// milliseconds have passed. Returns whether it has changed. Throws the exceptions of signal handlers.
  bool sleep_until(const std::uint64_t& completions);
  /// Whether the next turn is due, after so many operations. Reads the clock only at some calls, because operations
  /// that complete at once are short.
  bool is_over(unsigned operations = 1);
  /// The rest of the budget; negative when it is used up.
  std::chrono::nanoseconds left() const noexcept { return end_ - Clock::now(); }

  /// Cancels the call that is due.
  void left_loop();
  void each_reference(References& references);

 private:
  /// Renews the budget, delivers what is there, and arms the engine's handle once looking does not pay any more.
  /// Returns whether the loop must call again in its next turn.
  bool take(bool woken);
  void disarm() noexcept;
  bool goes_on(std::size_t delivered) noexcept;
  /// 0 where looking would keep the CPU from those that the engine waits for.
  Patience::Duration patience_of(Patience& patience) noexcept {
    return engine_.engine().may_advance_elsewhere() ? patience.next() : Patience::Duration::zero();
  }
  bool spin_until(const std::uint64_t& completions, std::uint64_t before);
  bool sleep(const StockLoop& loop, Clock::time_point until);
  bool has_time(Clock::time_point now) {
    look_at_descriptors(now);
    return now < end_ || skip_turn(now);
  }
  /// Has the next look of the engine ask for them, once in a while.
  void look_at_descriptors(Clock::time_point now) noexcept;
  bool skip_turn(Clock::time_point now);
  bool is_skippable(const StockLoop& loop) const;
  py::object own_call() const;

  Deliveries& engine_;
  Latency latency_;
  const Rhythm rhythm_;
  BoundLoop loop_;
  py::object method_;             ///< the engine's method that the loop calls
  py::object due_;                ///< the loop's handle of that call in its next turn; null: none is due
  Clock::time_point end_;         ///< when the budget ends; zero: this turn has not begun
  Clock::time_point latest_end_;  ///< when the budget ends, however often it is renewed
  unsigned unclocked_ = 0;        ///< operations that completed at once since the clock was read
  Patience spinning_;             ///< the count of one await
  Patience polling_;              ///< the count between two sleeps of the loop
  bool is_polling_ = false;
  Patience::Duration polling_length_{};
  Clock::time_point polling_end_;
  bool is_armed_ = false;  ///< set by take()
  Clock::time_point armed_;
  Clock::time_point next_descriptors_;  ///< when the engine's descriptors are looked at again
  GilSharing sharing_;
};

}  // namespace pydoca::bindings
