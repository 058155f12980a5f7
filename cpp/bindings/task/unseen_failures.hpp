#pragma once

#include "convert/pybind.hpp"
#include "task/quarantine.hpp"

#include <unordered_set>

namespace pydoca::bindings {

/// What can fail without a caller that waits: a task, an instance of a graph, a batch. A failure of which no code asks
/// is logged once: when its object ends, when it is freed or submitted again, or when the interpreter ends. Every
/// member needs the GIL.
class Unseen {
 public:
  /// Whether it has failed, and no code has asked for the outcome.
  bool is_unseen() const noexcept { return unseen_; }
  /// Records that some code has asked for the outcome: a failure needs no message in the log.
  void mark_seen() noexcept {
    if (unseen_) [[unlikely]] {
      forget();
    }
  }
  /// Logs the failure that no code has asked about; does nothing when there is none.
  void report_unseen() noexcept {
    if (unseen_) [[unlikely]] {
      report();
    }
  }
  /// Logs all of this process: the interpreter's end does not end every object.
  static void report_all() noexcept;

 protected:
  ~Unseen() = default;
  /// It has failed, and somebody should ask.
  void expect_question() noexcept;

 private:
  /// The message of a failure that no code has asked about.
  virtual void log_failure() const = 0;
  /// Whether it is that of a parent process, which reports it.
  virtual bool is_inherited() const noexcept = 0;

  static std::unordered_set<Unseen*>& all();
  void forget() noexcept;
  void report() noexcept;

  bool unseen_ = false;
};

/// Warns, in Python's development mode, that no code has a reference to object, which has just completed. holder is its
/// C++ object.
void warn_dropped_in_flight(py::handle object, const MemoryHolder& holder) noexcept;

}  // namespace pydoca::bindings
