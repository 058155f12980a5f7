#pragma once

#include "convert/collectable.hpp"
#include "convert/pybind.hpp"
#include "gather/tasks_of_engine.hpp"
#include "task/task_object.hpp"
#include "task/task_watch.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace pydoca::bindings {

/// Tasks of one engine, whose completions are counted and kept in their order. Each task counts once: a task that is
/// done when this object is made counts at once.
class WatchedTasks : NotCopied {
 public:
  /// engine: a ProgressEngine. tasks: any iterable. what names the caller in errors. Throws TypeError for an item that
  /// is not a Task, bad_state for a task that was never submitted, invalid_value for a task of another engine.
  WatchedTasks(py::object engine, py::handle tasks, std::string_view what);

  EngineObject& engine() const noexcept { return *engine_; }
  const py::list& tasks() const noexcept { return tasks_.list(); }
  std::size_t size() const noexcept { return size_; }
  bool all_done() const noexcept { return num_left_ == 0; }
  bool has_arrived() const noexcept { return first_arrived_ != nullptr; }
  /// LoopTurn looks until it changes.
  const std::uint64_t& num_arrivals() const noexcept { return num_arrivals_; }
  /// The count of completions, for LoopTurn, of the first task that has not completed; not when all are done.
  const std::uint64_t& completions_of_first_left() noexcept { return first_left().task->completions(); }

  /// The first task that has completed and was not taken; there is one.
  py::object take_arrived() noexcept;
  /// The tasks that were in flight at the beginning, and were not taken.
  py::list waited_for() const;
  /// Asks every task for its outcome, and returns the first error; null when there is none.
  py::object first_failure() const;

  // Have the engine set a future; one at a time.
  void wake_at_next(py::object future);
  /// Has the engine set it at the completion of the first task that has not completed.
  void wake_at_first_left(py::object future);
  /// The waiter goes on, whether its future was set or not.
  void forget_future() noexcept;
  bool has_waiter() const noexcept { return static_cast<bool>(kept_); }
  /// No completion counts any more.
  void cancel() noexcept;

  void each_reference(References& references);

 private:
  struct Watch final : TaskWatch {
    void completed() noexcept override { owner->arrive(*this); }

    WatchedTasks* owner = nullptr;
    TaskObject* task = nullptr;  ///< null once it was taken
    Watch* next_arrived = nullptr;
    bool was_in_flight = false;
  };

  void watch(Watch& place) noexcept;
  Watch& first_left() noexcept;
  void arrive(Watch& watch) noexcept;
  void keep(Watch& arrived) noexcept;

  py::object engine_ref_;
  EngineObject* engine_;
  TasksOfEngine tasks_;
  std::size_t size_;
  Watch only_;                  ///< watches a single task, which needs no allocation
  std::vector<Watch> several_;  ///< never resized: tasks have pointers into it
  Watch* watches_;
  std::size_t num_left_ = 0;
  std::size_t num_first_done_ = 0;  ///< so many tasks at the beginning have completed, at least
  std::uint64_t num_arrivals_ = 0;
  Watch* first_arrived_ = nullptr;
  Watch* last_arrived_ = nullptr;
  py::object future_;  ///< the future for the next arrival; null: none waits for it
  py::object kept_;    ///< the present waiter's future; null: nothing waits
  /// The task that sets kept_ at its completion, and keeps the waiter until then: asyncio has weak references to its
  /// tasks only.
  TaskObject* keeper_ = nullptr;
};

}  // namespace pydoca::bindings
