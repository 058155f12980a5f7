#pragma once

#include "convert/pybind.hpp"
#include "task/task_object.hpp"

#include <cstddef>
#include <string_view>

namespace pydoca::bindings {

/// The tasks that a call on their engine was given.
class TasksOfEngine {
 public:
  /// Copies tasks, an iterable. what, a literal, names the call in errors.
  TasksOfEngine(const EngineObject& engine, py::handle tasks, std::string_view what);

  std::size_t size() const noexcept { return tasks_.size(); }
  const py::list& list() const noexcept { return tasks_; }
  /// Throws TypeError for an item that is not a Task, invalid_value for a task of another engine.
  TaskObject& at(std::size_t place) const;

 private:
  const EngineObject& engine_;
  std::string_view what_;
  py::list tasks_;
};

}  // namespace pydoca::bindings
