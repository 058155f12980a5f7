/// How C++ waits for a task's next completion: without a future, a callback of Python's or an allocation.
#pragma once

#include "convert/collectable.hpp"
#include "convert/pybind.hpp"

namespace pydoca::bindings {

/// Is told once of the next completion of a task, before the task's callbacks run. The watch outlives its place in the
/// list, or leaves it.
class TaskWatch : NotCopied {
 public:
  virtual void completed() noexcept = 0;
  /// The references that the task has by the watch, for the cycle collector.
  virtual void each_reference(References& /*references*/) {}
  bool is_linked() const noexcept { return place_ != nullptr; }
  void unlink() noexcept {
    if (place_ == nullptr) return;
    *place_ = next_;
    if (next_ != nullptr) next_->place_ = place_;
    place_ = nullptr;
  }

 protected:
  TaskWatch() = default;
  virtual ~TaskWatch() { unlink(); }

 private:
  friend class TaskWatches;

  TaskWatch* next_ = nullptr;
  TaskWatch** place_ = nullptr;  ///< the pointer that points to this; null: in no list
};

/// The watches of one task.
class TaskWatches : NotCopied {
 public:
  bool empty() const noexcept { return first_ == nullptr; }
  void add(TaskWatch& watch) noexcept {
    watch.next_ = first_;
    watch.place_ = &first_;
    if (first_ != nullptr) first_->place_ = &watch.next_;
    first_ = &watch;
  }
  /// Empties the list, and tells those that were in it.
  void tell_all() noexcept {
    while (first_ != nullptr) {
      TaskWatch* const watch = first_;
      watch->unlink();
      watch->completed();
    }
  }
  void each_reference(References& references) {
    for (TaskWatch* watch = first_; watch != nullptr; watch = watch->next_) watch->each_reference(references);
  }

 private:
  TaskWatch* first_ = nullptr;
};

}  // namespace pydoca::bindings
