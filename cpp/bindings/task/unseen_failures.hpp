#pragma once

#include "convert/pybind.hpp"

#include <string>
#include <unordered_set>

namespace pydoca::bindings {

/// What can fail without a caller that waits: a task, an instance of a graph.
class Unseen {
 public:
  /// Logs the failure that no code has asked about; does nothing when there is none.
  virtual void report_unseen() noexcept = 0;

 protected:
  ~Unseen() = default;
};

/// Warns, in Python's development mode, that no code has a reference to object, which has just completed; what
/// describes it.
void warn_dropped_in_flight(py::handle object, const std::string& what) noexcept;

/// The failed tasks and graph instances of this process of which no code has asked for the outcome. Each is logged
/// once: when its object ends, when it is freed or submitted again, or when the interpreter ends. Every member needs
/// the GIL.
class UnseenFailures {
 public:
  static UnseenFailures& instance();

  /// Does nothing when memory is short.
  void add(Unseen& failed) noexcept;
  void remove(Unseen& failed) noexcept { failures_.erase(&failed); }
  /// Any of them, or null: the interpreter's end does not end every object.
  Unseen* any() const noexcept { return failures_.empty() ? nullptr : *failures_.begin(); }

 private:
  std::unordered_set<Unseen*> failures_;
};

}  // namespace pydoca::bindings
