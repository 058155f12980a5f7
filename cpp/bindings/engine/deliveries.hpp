#pragma once

#include <pydoca/progress_engine.hpp>

#include "convert/pybind.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace pydoca::bindings {

/// The deliveries of a progress engine, in batches. Completion callbacks run within the calls that deliver, with the
/// GIL held. The exceptions that they raise, and the futures that they complete, wait here until the batch is over.
/// Every member needs the GIL.
class Deliveries : NotCopied {
 public:
  using Clock = std::chrono::steady_clock;

  ProgressEngine& engine() const noexcept { return *engine_; }
  bool is_closed() const noexcept { return closed_; }
  /// Whether this process is a fork of the process that made the engine.
  bool is_forked() const noexcept { return engine_->check_thread() == Status::bad_state; }

  /// Throws WrongThreadError or ForkedError, with the name of the operation. Takes over the engine of a thread that has
  /// ended.
  void require_thread(std::string_view what) const {
    if (engine_->check_thread() != Status::success) [[unlikely]] {
      require_other_thread(what);
    }
  }
  /// Does the same, and throws BadStateError when the engine is closed.
  void require_open(std::string_view what) const;
  /// Does the same, and throws BadStateError in a completion callback, where DOCA forbids progress.
  void require_progressable(std::string_view what) const;
  /// Whether require_progressable() has nothing to say.
  bool is_progressable() const noexcept {
    return engine_->check_thread() == Status::success && !closed_ && !progressing_;
  }

  // Runs one batch of the engine, then sets futures and raises or reports faults. It does not do these two in a
  // completion callback: a coroutine may run there, and could not expect them.
  bool progress();
  std::size_t drain(std::size_t max, Sources sources = Sources::all);
  /// Does a piece of the device's work.
  bool assist();
  /// Delivers what is there now: at most max completions, for a fraction of a millisecond at most.
  std::size_t look(std::size_t max, Sources sources = Sources::all);
  /// Polls a few times; returns whether anything advanced.
  bool advance(Sources sources);
  bool is_progressing() const noexcept { return progressing_; }
  /// The sum of all advances so far.
  const std::uint64_t& advanced() const noexcept { return advanced_; }

  /// Sets futures and raises or reports faults, unless a batch is running. Control calls that may call callbacks use
  /// it.
  void settle() {
    if (!woken_.empty() || !kept_.empty() || !faults_.empty()) [[unlikely]] {
      settle_some();
    }
  }
  /// Sets the result of future at the end of the batch, or at once if it finds no memory to remember it.
  void wake_later(const py::object& future, const py::object& result) noexcept {
    try {
      woken_.emplace_back(future, result);
    } catch (const std::bad_alloc&) {
      wake_now(future, result);
    }
  }
  /// Calls a user's callback; its exception waits for settle(). source (a task, a context) appears in the report.
  template <typename... Args>
  void call(const py::object& callback, const py::object& source, const Args&... args) noexcept {
    if (silent_) return;
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
      try {
        kept_.push_back(std::move(context));
      } catch (const std::bad_alloc&) {
        context.release();  // it stays for ever, which is safe
      }
    }
  }

 protected:
  Deliveries() : engine_(ProgressEngine::create()) {}
  ~Deliveries() = default;

  py::object bridge_;  ///< its report() gets the faults first; null without an event loop
  bool closed_ = false;
  bool silent_ = false;  ///< nothing can reach the engine: it calls no callbacks

 private:
  struct Fault {
    py::object error;
    py::object source;
  };

  /// Callbacks may run while deliver() runs, which returns how many advances there were.
  template <class Deliver>
  std::size_t run_batch(const Deliver& deliver) noexcept;
  std::size_t drain_batch(std::size_t max, Sources sources) noexcept;
  [[gnu::cold]] void require_other_thread(std::string_view what) const;
  void settle_some();
  void set_futures();
  static void wake_now(const py::object& future, const py::object& result) noexcept;
  void report_faults();
  bool report(const Fault& fault);

  std::shared_ptr<ProgressEngine> engine_;
  std::vector<std::pair<py::object, py::object>> woken_;
  std::vector<Fault> faults_;
  std::vector<py::object> kept_;
  std::uint64_t advanced_ = 0;
  bool progressing_ = false;
};

}  // namespace pydoca::bindings
