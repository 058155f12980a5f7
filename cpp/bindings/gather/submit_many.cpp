#include "gather/submit_many.hpp"

#include "batch/shared_array.hpp"
#include "convert/convert.hpp"
#include "engine/engine_object.hpp"
#include "gather/tasks_of_engine.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace pydoca::bindings {

namespace {

std::vector<TaskObject*> all_of(const EngineObject& engine, const TasksOfEngine& tasks, std::string_view what) {
  engine.require_open(what);
  std::vector<TaskObject*> objects(tasks.size());
  for (std::size_t i = 0; i < objects.size(); ++i) objects[i] = &tasks.at(i);
  return objects;
}

/// Throws any error but the data path's, such as that of Ctrl-C; with posts, what was submitted before is posted then.
Status try_to_submit(TaskObject& task, SubmitFlags flags, bool posts) {
  try {
    task.submit(flags, false);
    return Status::success;
  } catch (py::error_already_set& error) {
    if (!is_docas(error)) {
      if (posts) task.context().context().flush_tasks();
      throw;
    }
    return static_cast<Status>(py::int_(error.value().attr("status")).cast<std::uint32_t>());
  }
}

/// An array of a status for each task, which status_of(place) gives.
template <class StatusOf>
py::object array_of(std::size_t size, const StatusOf& status_of) {
  const SharedArray statuses(size * sizeof(std::int32_t));
  auto* const values = statuses.values<std::int32_t>();
  for (std::size_t i = 0; i < size; ++i) values[i] = static_cast<std::int32_t>(status_of(i));
  return statuses.view("i", {size});
}

}  // namespace

py::object submit_many(EngineObject& engine, py::handle tasks, SubmitFlags flags) {
  const TasksOfEngine given(engine, tasks, "submit_many");
  const std::vector<TaskObject*> objects = all_of(engine, given, "submit_many");
  const bool posts = has(flags, SubmitFlags::flush);
  const auto unflushed =
      static_cast<SubmitFlags>(static_cast<std::uint32_t>(flags) & ~static_cast<std::uint32_t>(SubmitFlags::flush));
  return array_of(objects.size(), [&](std::size_t i) {
    TaskObject& task = *objects[i];
    const bool is_last = i + 1 == objects.size() || &objects[i + 1]->context() != &task.context();
    const Status status = try_to_submit(task, is_last ? flags : unflushed, posts);
    if (status != Status::success && is_last && posts) task.context().context().flush_tasks();
    return status;
  });
}

py::object statuses_of(EngineObject& engine, py::handle tasks) {
  const TasksOfEngine given(engine, tasks, "statuses");
  const std::vector<TaskObject*> objects = all_of(engine, given, "statuses");
  return array_of(objects.size(), [&](std::size_t i) {
    objects[i]->mark_seen();
    return objects[i]->was_submitted() ? objects[i]->status() : Status::bad_state;
  });
}

}  // namespace pydoca::bindings
