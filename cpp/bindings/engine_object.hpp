#pragma once

#include <pydoca/progress_engine.hpp>

#include "blocking_call.hpp"
#include "patience.hpp"

#include <pybind11/pybind11.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pydoca::bindings {

class ContextObject;
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

/// A progress engine as Python has it. Completion callbacks run within its calls with the GIL held; what they raise,
/// and the futures they complete, wait here until the engine's batch is over. Everything needs the GIL.
class EngineObject {
 public:
  using Clock = std::chrono::steady_clock;

  EngineObject(double drain_timeout, Latency latency);
  ~EngineObject();
  EngineObject(const EngineObject&) = delete;
  EngineObject& operator=(const EngineObject&) = delete;

  ProgressEngine& engine() const noexcept { return *engine_; }
  bool is_closed() const noexcept { return closed_; }
  /// Whether this process was forked from the one that made the engine.
  bool is_forked() const noexcept { return engine_->check_thread() == Status::bad_state; }

  /// Throws WrongThreadError or ForkedError, saying what was attempted. Takes the engine of a thread that has ended.
  void require_thread(std::string_view what) const;
  /// The same, and BadStateError when the engine is closed.
  void require_open(std::string_view what) const;
  /// The same, and BadStateError in a completion callback, where DOCA forbids progress.
  void require_progressable(std::string_view what) const;

  // One batch of the engine's, after which futures are set and faults raised or reported. In a completion callback the
  // last two do nothing: there a coroutine may run, which would not know.
  bool progress();
  std::size_t drain(std::size_t max);
  /// Takes what is there now, as much as fits into a turn of an event loop.
  std::size_t look();
  /// A turn of an event loop: renews its budget, takes what is there, and arms the handle once looking does not pay any
  /// more. Whether the loop is to call again in its next turn.
  bool turn(bool woken);
  /// progress() over and over until task has completed, or end or patience is over; whether it has.
  bool progress_until(const TaskObject& task, Clock::time_point end);

  // What an event loop's turn may do at once instead of waiting for it. The time begins with the turn's first await.
  /// Whether the loop that runs in this thread is the one to which the bridge bound the engine. May say no to the right
  /// one, never yes to another.
  bool is_in_loop() const noexcept;
  void entered_loop(const pybind11::object& loop);
  /// Of the loop to which the engine belongs; only where is_in_loop().
  pybind11::object create_future() const { return create_future_(); }
  void left_loop() noexcept;
  /// Whether a turn of the loop is due. Reads the clock now and again only: what is done at once is short.
  bool is_budget_over() noexcept;
  /// The end of this turn's time; the first call of a turn has the bridge look at the engine in the next one.
  Clock::time_point budget_end();
  /// A turn has begun.
  void renew_budget() noexcept { budget_end_ = {}; }

  /// How much all of these have advanced.
  std::uint64_t advanced() const noexcept { return advanced_; }

  /// How long a cancelled await waits for the device to let go of memory; seconds.
  Latency latency() const noexcept { return latency_; }
  double drain_timeout() const noexcept { return drain_timeout_; }
  /// Throws invalid_value unless 0 or more.
  void set_drain_timeout(double seconds);

  /// Sets futures and raises or reports faults, unless a batch is under way. For control calls that may call back.
  void settle();
  /// future gets result at the end of the batch.
  void wake_later(pybind11::object future, pybind11::object result) {
    woken_.emplace_back(std::move(future), std::move(result));
  }
  /// Calls a user's callback; what it raises waits for settle(). source (a task, a context) goes into the report.
  template <typename... Args>
  void call(const pybind11::object& callback, const pybind11::object& source, const Args&... args) noexcept {
    try {
      callback(args...);
    } catch (pybind11::error_already_set& error) {
      collect(error, source);
    }
  }

  void collect(pybind11::error_already_set& error, const pybind11::object& source) noexcept;

  /// The asyncio bridge, made on the first call.
  pybind11::object bridge();
  /// Tells the bridge, if there is one, that the handle is not armed any more.
  void disarmed();
  void release_thread();
  /// Throws in_use while contexts are not closed. Idempotent.
  void close();
  /// For with: stops and closes the contexts, newest first, then the engine.
  void leave();
  /// For the interpreter's end, of every engine of this thread: waits until the devices have let go of memory, for a
  /// bounded time.
  static void end_all() noexcept;

  void add_context(ContextObject& context) { contexts_.push_back(&context); }
  void remove_context(ContextObject& context) noexcept { std::erase(contexts_, &context); }
  /// Open contexts, oldest first.
  pybind11::list contexts() const;

  int traverse(visitproc visit, void* arg) const;
  void clear() {
    loop_mark_ = pybind11::object();
    create_future_ = pybind11::object();
    bridge_ = pybind11::object();
  }

 private:
  struct Fault {
    pybind11::object error;
    pybind11::object source;
  };

  std::size_t drain_batch(std::size_t max);
  void set_futures();
  void report_faults();
  bool report(const Fault& fault);

  std::shared_ptr<ProgressEngine> engine_;
  pybind11::object bridge_;
  pybind11::object loop_mark_;      ///< what stands for the bound loop in its thread's state
  pybind11::object create_future_;  ///< the bound loop's method
  Clock::time_point budget_end_;
  unsigned unclocked_ = 0;  ///< what was done at once since the clock was read
  std::vector<ContextObject*> contexts_;
  std::vector<std::pair<pybind11::object, pybind11::object>> woken_;
  std::vector<Fault> faults_;
  std::uint64_t advanced_ = 0;
  bool advance();
  bool goes_on(std::size_t delivered) noexcept;
  void disarm() noexcept;
  bool spin_until(const TaskObject& task, std::uint64_t before, Clock::time_point end);

  Latency latency_;
  Patience spinning_;  ///< within one await
  Patience polling_;   ///< between two sleeps of the loop
  GilSharing sharing_;
  Clock::time_point armed_;
  bool is_polling_ = false;
  Patience::Duration polling_length_{};
  Clock::time_point polling_end_;
  double drain_timeout_ = 0;
  bool progressing_ = false;
  bool closed_ = false;
};

/// The ProgressEngine that object is; a TypeError for anything else.
EngineObject& to_engine(const pybind11::object& object);

}  // namespace pydoca::bindings
