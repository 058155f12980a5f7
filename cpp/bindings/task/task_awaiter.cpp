#include "task/task_awaiter.hpp"

#include "call/raw_method.hpp"
#include "convert/collectable.hpp"
#include "convert/convert.hpp"
#include "convert/python.hpp"
#include "engine/awaitable.hpp"
#include "engine/engine_object.hpp"
#include "loop/awaiter.hpp"
#include "task/task_object.hpp"
#include "trace/awaits.hpp"

#include <cstdint>
#include <utility>

namespace pydoca::bindings {

namespace {

/// The iterator that await resumes until the task is done.
struct TaskAwaiter {
  PyObject ob_base;
  PyObject* task;  ///< null: the result was delivered
  PyObject*
      inner;  ///< the object to await when the task takes longer: the future's iterator, or the bridge's coroutine
  PyObject* future;      ///< set by the task's next completion; null when inner is the coroutine
  std::uint64_t before;  ///< the number of the task's completions when the future was made
  TracedWait traced;

  // AwaiterType uses these.
  static PySendResult send(TaskAwaiter& self, PyObject* value, PyObject** result);
  static PyObject* throw_in(TaskAwaiter& self, PyObject* const* args, Py_ssize_t num_args);
  static PyObject* close(TaskAwaiter& self);
  static int traverse(TaskAwaiter& self, visitproc visit, void* arg);
  static void clear(TaskAwaiter& self);
};

using TaskAwaiterType = AwaiterType<TaskAwaiter>;

/// The progress of a task without the loop.
enum class Progress : std::uint8_t { untried, tried, done };

/// done: result is the task's result. tried: the task has not completed, or a turn of the loop is due first. Throws the
/// task's error.
Progress progress_at_once(TaskObject& task, PyObject*& result) {
  LoopTurn& turn = task.engine().turn();
  if (!task.was_submitted() || !turn.loop().is_running()) {
    return Progress::untried;
  }
  turn.begin();
  if (task.in_flight() && !turn.progress_until(task.completions()) && !turn.sleep_until(task.completions())) {
    return Progress::tried;
  }
  if (turn.is_over()) [[unlikely]] {
    return Progress::tried;
  }
  result = task.value_or_error().release().ptr();
  return Progress::done;
}

/// Waits for the next completion. The bridge handles the cases that need Python code, such as another loop or a
/// cancellation.
void suspend(TaskAwaiter& self, TaskObject& task) {
  static PyObject* const name = PyUnicode_InternFromString("__await__");
  const py::object future = task.engine().turn().loop().create_future();
  self.inner = PyObject_CallMethodNoArgs(future.ptr(), name);
  if (self.inner == nullptr) throw py::error_already_set();
  task.waiters().add(future);
  self.future = Py_NewRef(future.ptr());
  self.before = task.completions();
  TaskAwaiterType::track(self);
}

void become_coroutine(TaskAwaiter& self, const py::object& coroutine) {
  self.inner = Py_NewRef(coroutine.ptr());
  TaskAwaiterType::track(self);
}

/// Whether the result is there already.
bool begin(TaskAwaiter& self, PyObject*& result) {
  auto& task = object_of<TaskObject>(self.task);
  const Progress progress = progress_at_once(task, result);
  if (progress == Progress::done) {
    return true;
  }
  if (progress == Progress::tried && task.in_flight()) {
    suspend(self, task);
  } else {
    become_coroutine(self, bridge_module().attr("await_task")(py::handle(self.task), progress == Progress::tried));
  }
  return false;
}

[[gnu::cold, gnu::noinline]] void record_wait(TaskAwaiter& self) noexcept {
  const bool is_known = self.task != nullptr && is_whole(self.task);
  const void* const task = is_known ? object_of<TaskObject>(self.task).identity() : nullptr;
  end_traced_wait(std::exchange(self.traced, {}), reinterpret_cast<std::uintptr_t>(task));
}

PySendResult end(TaskAwaiter& self, PySendResult how) noexcept {
  if (self.traced.begin != 0) [[unlikely]]
    record_wait(self);
  Py_CLEAR(self.task);
  return how;
}

/// Frees a task whose failure stops its context: only the await may have the task.
void free_failed(TaskAwaiter& self) noexcept {
  if (self.task != nullptr && is_whole(self.task)) object_of<TaskObject>(self.task).free_if_stopping();
}

PySendResult fail(TaskAwaiter& self, PyObject*& result) noexcept {
  set_python_error();
  result = nullptr;
  free_failed(self);
  return end(self, PYGEN_ERROR);
}

void drop_future(TaskAwaiter& self) {
  const auto future = py::reinterpret_steal<py::object>(std::exchange(self.future, nullptr));
  Py_CLEAR(self.inner);
  object_of<TaskObject>(self.task).waiters().discard(future);
}

/// Handles the future's result: the completion's status and value.
PySendResult take_result(TaskAwaiter& self, PyObject*& result) {
  const auto outcome = py::reinterpret_steal<py::tuple>(result);
  auto& task = object_of<TaskObject>(self.task);
  drop_future(self);
  const auto status = static_cast<Status>(outcome[0].cast<std::uint32_t>());
  if (status != Status::success) raise(task.exception_of(status));
  result = py::object(outcome[1]).release().ptr();
  return end(self, PYGEN_RETURN);
}

/// The wait was cancelled, for example: the bridge waits until the device has released the memory.
PySendResult give_up(TaskAwaiter& self, PyObject*& result) {
  const py::error_already_set error;
  if (self.future != nullptr) drop_future(self);
  become_coroutine(self, bridge_module().attr("give_up")(py::handle(self.task), self.before, error.value()));
  return PyIter_Send(self.inner, Py_None, &result);
}

/// The future's iterator decides the result of the await.
PySendResult settle(TaskAwaiter& self, PySendResult how, PyObject*& result) noexcept {
  if (self.future == nullptr || how == PYGEN_NEXT) {
    return how;
  }
  try {
    return how == PYGEN_RETURN ? take_result(self, result) : give_up(self, result);
  } catch (...) {
    return fail(self, result);
  }
}

PySendResult TaskAwaiter::send(TaskAwaiter& self, PyObject* value, PyObject** result) {
  if (self.inner == nullptr) {
    if (self.task == nullptr) {
      PyErr_SetString(PyExc_RuntimeError, "this await of a task is over; await the task again");
      return PYGEN_ERROR;
    }
    if (trace::is_on()) [[unlikely]]
      self.traced = begin_traced_wait();
    try {
      if (begin(self, *result)) [[likely]] {
        return end(self, PYGEN_RETURN);
      }
    } catch (...) {
      return fail(self, *result);
    }
  }
  const PySendResult how = settle(self, PyIter_Send(self.inner, value, result), *result);
  if (how != PYGEN_NEXT && self.traced.begin != 0) [[unlikely]]
    record_wait(self);
  if (how == PYGEN_ERROR) [[unlikely]] {
    free_failed(self);
  }
  return how;
}

PySendResult raise_later(TaskAwaiter& self, PyObject* const* args, Py_ssize_t num_args, PyObject*& result) {
  result = throw_into(self.inner, args, num_args);
  if (result != nullptr) return PYGEN_NEXT;
  return settle(self, PYGEN_ERROR, result);
}

/// asyncio cancels a task that it has not begun yet in this way. The operation was submitted before the await: the
/// device may still have the memory.
PySendResult raise_first(TaskAwaiter& self, PyObject* const* args, Py_ssize_t num_args, PyObject*& result) noexcept {
  set_thrown(args, num_args);
  if (self.task == nullptr) {
    return PYGEN_ERROR;
  }
  try {
    auto& task = object_of<TaskObject>(self.task);
    if (!task.was_submitted()) return end(self, PYGEN_ERROR);
    self.before = task.completions();
    return give_up(self, result);
  } catch (...) {
    return fail(self, result);
  }
}

PyObject* TaskAwaiter::throw_in(TaskAwaiter& self, PyObject* const* args, Py_ssize_t num_args) {
  PyObject* result = nullptr;
  const PySendResult how =
      self.inner != nullptr ? raise_later(self, args, num_args, result) : raise_first(self, args, num_args, result);
  return as_iterator(how, result);
}

/// A wait that lends no memory ends with its last await; another task goes on, as if it had only been submitted.
void leave(TaskAwaiter& self) noexcept {
  if (self.task == nullptr || !is_whole(self.task)) {
    return;
  }
  try {
    auto& task = object_of<TaskObject>(self.task);
    if (self.future != nullptr) drop_future(self);
    const bool is_last = task.in_flight() && !task.lends_memory() && task.waiters().empty() && task.watches().empty();
    // The collector may run in another thread than the engine's.
    if (is_last && task.engine().engine().check_thread() == Status::success) task.abandon();
  } catch (...) {
    set_python_error();
    PyErr_WriteUnraisable(self.task);
  }
}

PyObject* TaskAwaiter::close(TaskAwaiter& self) {
  if (self.inner == nullptr || self.future != nullptr) leave(self);
  Py_CLEAR(self.task);
  return self.inner != nullptr ? PyObject_CallMethod(self.inner, "close", nullptr) : Py_NewRef(Py_None);
}

int TaskAwaiter::traverse(TaskAwaiter& self, visitproc visit, void* arg) {
  Py_VISIT(self.task);
  Py_VISIT(self.inner);
  Py_VISIT(self.future);
  return 0;
}

void TaskAwaiter::clear(TaskAwaiter& self) {
  if (self.future != nullptr) [[unlikely]]
    leave(self);
  Py_CLEAR(self.task);
  Py_CLEAR(self.inner);
  Py_CLEAR(self.future);
}

PyObject* await(PyObject* task) {
  TaskAwaiter* const awaiter = TaskAwaiterType::allocate();
  if (awaiter == nullptr) {
    return nullptr;
  }
  awaiter->task = Py_NewRef(task);
  awaiter->inner = nullptr;
  awaiter->future = nullptr;
  awaiter->before = 0;
  awaiter->traced.begin = 0;
  return &awaiter->ob_base;
}

}  // namespace

void set_await_slot(PyHeapTypeObject* type) {
  TaskAwaiterType::prepare("pydoca.TaskAwaiter");
  type->as_async.am_await = &await;
  type->ht_type.tp_as_async = &type->as_async;
}

}  // namespace pydoca::bindings
