#pragma once

#include <unordered_set>

namespace pydoca::bindings {

class TaskObject;

/// The failed tasks of this process of which no code has asked for the outcome. Each is logged once: when its object
/// ends, when it is freed or submitted again, or when the interpreter ends. Every member needs the GIL.
class UnseenFailures {
 public:
  static UnseenFailures& instance();

  /// Does nothing when memory is short.
  void add(TaskObject& task) noexcept;
  void remove(TaskObject& task) noexcept { tasks_.erase(&task); }
  /// Any of them, or null: the interpreter's end does not end every object.
  TaskObject* any() const noexcept { return tasks_.empty() ? nullptr : *tasks_.begin(); }

 private:
  std::unordered_set<TaskObject*> tasks_;
};

}  // namespace pydoca::bindings
