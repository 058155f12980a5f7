#pragma once

#include "loop/blocking_call.hpp"
#include "loop/bound_loop.hpp"
#include "loop/patience.hpp"

#include <pybind11/pybind11.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pydoca::bindings {

class EngineObject;
class TaskObject;

/// What an engine in an event loop trades for speed.
enum class Latency : std::uint8_t {
  low,       ///< always looks for a while before it sleeps
  balanced,  ///< looks as long as that pays
  power,     ///< sleeps at once
};
/// name, else the environment's PYDOCA_LATENCY, else balanced. Throws InvalidValueError for another word.
Latency parse_latency(const std::optional<std::string>& name);
std::string_view name_of(Latency latency) noexcept;

/// What an engine does in a turn of its event loop, and what awaits may do in one instead of waiting for the next: they
/// have a budget of time, which the next turn gives back; the first of them sees to it that this turn comes. Where the
/// loop would have nothing else to do in it, the turn is spared: the budget is given back at once, and who has nothing
/// to look at any more sleeps where it stands. Everything needs the GIL.
class LoopTurn {
 public:
  using Clock = std::chrono::steady_clock;

  LoopTurn(EngineObject& engine, Latency latency);

  BoundLoop& loop() noexcept { return loop_; }
  Latency latency() const noexcept { return latency_; }

  /// loop runs in this thread, and the engine belongs to it from now on.
  void enter_loop(const pybind11::object& loop);
  /// Has the loop take its next turn for the engine, unless that is due already, or there is no open loop.
  void kick();
  /// The loop's call, due since kick() or because the engine's handle woke it: takes what is there. Throws what
  /// callbacks and signal handlers raised, and the engine's refusal in a forked child.
  void run(bool woken);
  bool is_due() const noexcept { return static_cast<bool>(due_); }

  /// For an await: has the loop take the next turn, and starts this one's time.
  void begin();
  /// Progresses the engine until task has completed, or the time or patience is over. Whether it has.
  bool progress_until(const TaskObject& task);
  /// Where the loop would only go to sleep now: sleeps in its place until task has completed, or the loop has something
  /// to do, or for some milliseconds. Whether task has completed. Throws what signal handlers raise.
  bool sleep_until(const TaskObject& task);
  /// Whether the next turn is due. Reads the clock now and again only: what is done at once is short.
  bool is_over();
  /// What is left of the time, below zero when it is over.
  std::chrono::nanoseconds left() const noexcept { return end_ - Clock::now(); }

  /// Takes back the call that is due.
  void left_loop();
  int traverse(visitproc visit, void* arg) const;
  void clear() noexcept;

 private:
  /// Renews the budget, takes what is there, and arms the engine's handle once looking does not pay any more. Whether
  /// the loop is to call again in its next turn.
  bool take(bool woken);
  void disarm() noexcept;
  bool goes_on(std::size_t delivered) noexcept;
  bool spin_until(const TaskObject& task, std::uint64_t before);
  bool sleep(const StockLoop& loop, Clock::time_point until);
  bool has_time(Clock::time_point now) { return now < end_ || spare(now); }
  bool spare(Clock::time_point now);
  bool is_spare(const StockLoop& loop) const;
  pybind11::object own_call() const;

  EngineObject& engine_;
  Latency latency_;
  BoundLoop loop_;
  pybind11::object method_;       ///< the engine's method that the loop calls
  pybind11::object due_;          ///< the loop's handle of that call, which is due in its next turn; null: none is
  Clock::time_point end_;         ///< of the budget; none: nothing was done in this turn
  Clock::time_point latest_end_;  ///< of the budget however often it is given back
  unsigned unclocked_ = 0;        ///< what was done at once since the clock was read
  Patience spinning_;             ///< within one await
  Patience polling_;              ///< between two sleeps of the loop
  bool is_polling_ = false;
  Patience::Duration polling_length_{};
  Clock::time_point polling_end_;
  bool is_armed_ = false;  ///< by take()
  Clock::time_point armed_;
  GilSharing sharing_;
};

}  // namespace pydoca::bindings
