#pragma once

#include "convert/pybind.hpp"
#include "engine/deliveries.hpp"
#include "engine/loop_turn.hpp"
#include "loop/patience.hpp"

#include <chrono>
#include <vector>

namespace pydoca::bindings {

class ContextObject;
class EngineObject;

/// An engine's reference to an object in flight other than a task: a graph's instance. The cycle collector sees it as
/// the engine's own, so that the object lives as long as the engine may come back to it.
class InFlightReference : NotCopied {
 public:
  ~InFlightReference() { static_cast<void>(release()); }
  bool is_held() const noexcept { return engine_ != nullptr; }
  void hold(EngineObject& engine, py::object object);
  /// Empty when none is held.
  py::object release() noexcept;

 private:
  friend class EngineObject;

  py::object object_;
  EngineObject* engine_ = nullptr;  ///< null: holds nothing
  InFlightReference* previous_ = nullptr;
  InFlightReference* next_ = nullptr;
};

/// A progress engine as Python has it: its deliveries, its turn in an event loop, and its open contexts. Every member
/// needs the GIL.
class EngineObject final : public Deliveries {
 public:
  EngineObject(double drain_timeout, Latency latency);
  ~EngineObject();

  /// Every engine of this process, including those inherited by fork.
  static std::vector<EngineObject*>& all();

  /// The turn in the event loop to which the engine belongs.
  LoopTurn& turn() noexcept { return turn_; }
  const LoopTurn& turn() const noexcept { return turn_; }
  void enter_loop(const py::object& loop);
  /// Runs the turn; a refusal of the engine also takes it out of its loop.
  void run_turn(bool woken);
  /// The asyncio bridge, made at the first call.
  py::object bridge();

  /// How long blocking waits look before they sleep.
  Patience& patience() noexcept { return patience_; }

  /// Seconds that a cancelled await waits for the device to release memory.
  double drain_timeout() const noexcept { return drain_timeout_; }
  /// Throws invalid_value unless 0 or more.
  void set_drain_timeout(double seconds);

  void release_thread();
  /// Idempotent. Throws in_use while contexts are open.
  void close();

  void add_context(ContextObject& context) { contexts_.push_back(&context); }
  void remove_context(ContextObject& context) noexcept { std::erase(contexts_, &context); }
  /// The open contexts, oldest first.
  const std::vector<ContextObject*>& contexts() const noexcept { return contexts_; }

  /// Whether nothing can reach the engine: no Python code of the program runs any more.
  bool is_silent() const noexcept { return silent_; }
  void each_reference(References& references);
  /// The collector has found that nothing can reach the engine any more: ends what is in flight, with a
  /// ResourceWarning.
  void finalize() noexcept;

 private:
  friend class InFlightReference;
  void end_all();
  bool is_idle() const noexcept { return in_flight_ == nullptr && engine().num_inflight_tasks() == 0; }

  LoopTurn turn_;
  /// The first looks take about as long as a sleep and a wake-up. Trials take longer: while the other side also sleeps,
  /// its answer takes a wake-up, and neither side could find out that looking pays again.
  Patience patience_{std::chrono::microseconds(200), false, std::chrono::microseconds(50)};
  std::vector<ContextObject*> contexts_;
  InFlightReference* in_flight_ = nullptr;  ///< the first of a list
  double drain_timeout_ = 0;
};

/// The ProgressEngine that object is. Throws TypeError for any other type.
EngineObject& to_engine(const py::object& object);

}  // namespace pydoca::bindings
