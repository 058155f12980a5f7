#pragma once

#include <pydoca/progress_engine.hpp>

#include "convert/pybind.hpp"
#include "task/loop_turn.hpp"

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

/// A progress engine as Python has it. Completion callbacks run within its calls, with the GIL held. The exceptions
/// that they raise, and the futures that they complete, wait here until the engine's batch is over. Every member needs
/// the GIL.
class EngineObject {
 public:
  using Clock = std::chrono::steady_clock;

  EngineObject(double drain_timeout, Latency latency);
  ~EngineObject();
  EngineObject(const EngineObject&) = delete;
  EngineObject& operator=(const EngineObject&) = delete;

  ProgressEngine& engine() const noexcept { return *engine_; }
  bool is_closed() const noexcept { return closed_; }
  /// Whether this process is a fork of the process that made the engine.
  bool is_forked() const noexcept { return engine_->check_thread() == Status::bad_state; }

  /// Throws WrongThreadError or ForkedError, with the name of the operation. Takes over the engine of a thread that has
  /// ended.
  void require_thread(std::string_view what) const;
  /// Does the same, and throws BadStateError when the engine is closed.
  void require_open(std::string_view what) const;
  /// Does the same, and throws BadStateError in a completion callback, where DOCA forbids progress.
  void require_progressable(std::string_view what) const;

  // Runs one batch of the engine, then sets futures and raises or reports faults. In a completion callback it does not
  // do these two: a coroutine may run there, and could not expect them.
  bool progress();
  std::size_t drain(std::size_t max);
  /// Delivers what is there now: at most max completions, for a fraction of a millisecond at most.
  std::size_t look(std::size_t max);
  /// Polls a few times; returns whether anything advanced.
  bool advance();
  bool is_progressing() const noexcept { return progressing_; }
  /// The turn in the event loop to which the engine belongs.
  LoopTurn& turn() noexcept { return turn_; }
  const LoopTurn& turn() const noexcept { return turn_; }

  /// The sum of all advances so far.
  std::uint64_t advanced() const noexcept { return advanced_; }

  /// Seconds that a cancelled await waits for the device to release memory.
  double drain_timeout() const noexcept { return drain_timeout_; }
  /// Throws invalid_value unless 0 or more.
  void set_drain_timeout(double seconds);

  /// Sets futures and raises or reports faults, unless a batch is running. For control calls that may call callbacks.
  void settle();
  /// Sets the result of future at the end of the batch.
  void wake_later(py::object future, py::object result) { woken_.emplace_back(std::move(future), std::move(result)); }
  /// Calls a user's callback; its exception waits for settle(). source (a task, a context) appears in the report.
  template <typename... Args>
  void call(const py::object& callback, const py::object& source, const Args&... args) noexcept {
    try {
      callback(args...);
    } catch (py::error_already_set& error) {
      collect(error, source);
    }
  }

  void collect(py::error_already_set& error, const py::object& source) noexcept;
  /// A context's callback calls this at its end: it returns the reference to the engine, so that the engine lives until
  /// the end of the batch even without other references.
  void keep(py::object context) noexcept {
    if (progressing_ && context.ref_count() == 1) [[unlikely]] {
      kept_.push_back(std::move(context));
    }
  }

  /// The asyncio bridge, made at the first call.
  py::object bridge();
  void release_thread();
  /// Idempotent. Throws in_use while contexts are open.
  void close();
  /// For with: stops and closes the contexts, newest first, then the engine.
  void leave();
  /// For the interpreter's end: every engine of this thread waits until the devices have released memory, for a bounded
  /// time.
  static void end_all() noexcept;

  void add_context(ContextObject& context) { contexts_.push_back(&context); }
  void remove_context(ContextObject& context) noexcept { std::erase(contexts_, &context); }
  /// The open contexts, oldest first.
  py::list contexts() const;

  int traverse(visitproc visit, void* arg) const;
  void clear() {
    turn_.clear();
    bridge_ = py::object();
  }

 private:
  struct Fault {
    py::object error;
    py::object source;
  };

  std::size_t drain_batch(std::size_t max);
  void set_futures();
  void report_faults();
  bool report(const Fault& fault);

  std::shared_ptr<ProgressEngine> engine_;
  LoopTurn turn_;
  py::object bridge_;
  std::vector<ContextObject*> contexts_;
  std::vector<std::pair<py::object, py::object>> woken_;
  std::vector<Fault> faults_;
  std::vector<py::object> kept_;
  std::uint64_t advanced_ = 0;
  double drain_timeout_ = 0;
  bool progressing_ = false;
  bool closed_ = false;
};

/// The ProgressEngine that object is. Throws TypeError for any other type.
EngineObject& to_engine(const py::object& object);

}  // namespace pydoca::bindings
