#include "task/task_awaiter.hpp"

#include "call/raw_method.hpp"
#include "convert/collectable.hpp"
#include "convert/convert.hpp"
#include "convert/python.hpp"
#include "engine/awaitable.hpp"
#include "engine/engine_object.hpp"
#include "loop/static_type.hpp"
#include "loop/stop_iteration.hpp"
#include "task/task_object.hpp"
#include "trace/awaits.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace pydoca::bindings {

namespace {

/// The iterator that await resumes until the task is done. A plain struct, allocated by CPython.
struct TaskAwaiter {
  PyObject ob_base;
  PyObject* task;  ///< null: the result was delivered
  PyObject*
      inner;  ///< the object to await when the task takes longer: the future's iterator, or the bridge's coroutine
  PyObject* future;      ///< set by the task's next completion; null when inner is the coroutine
  std::uint64_t before;  ///< the number of the task's completions when the future was made
  TracedWait traced;

  PyObject* object() noexcept { return &ob_base; }
};

/// Unused awaiters, kept for the next awaits.
struct Spares {
  std::array<TaskAwaiter*, 64> awaiters{};
  std::size_t count = 0;
};

constinit Spares spares;

TaskAwaiter& awaiter_of(PyObject* self) noexcept { return *reinterpret_cast<TaskAwaiter*>(self); }

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

/// Only an awaiter that suspends can become part of a reference cycle.
void track(TaskAwaiter& self) noexcept {
  if (PyObject_GC_IsTracked(self.object()) == 0) PyObject_GC_Track(self.object());
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
  track(self);
}

void become_coroutine(TaskAwaiter& self, const py::object& coroutine) {
  self.inner = Py_NewRef(coroutine.ptr());
  track(self);
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

/// Frees a task whose failure stops its context: nobody else may have the task, and no program can submit it again
/// before the context was idle.
void free_failed(TaskAwaiter& self) noexcept {
  if (self.task == nullptr || !is_whole(self.task)) {
    return;
  }
  auto& task = object_of<TaskObject>(self.task);
  if (task.done() && task.context().context().state() == ContextState::stopping) {
    task.context().tasks().release(task);
  }
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
  drop_future(self);
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

PySendResult send(PyObject* object, PyObject* value, PyObject** result) {
  TaskAwaiter& self = awaiter_of(object);
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

/// An iterator ends with StopIteration, which has the value.
PyObject* as_iterator(PySendResult how, PyObject* result) {
  if (how != PYGEN_RETURN) {
    return result;
  }
  const auto value = py::reinterpret_steal<py::object>(result);
  PyObject* const stop = PyObject_CallOneArg(PyExc_StopIteration, value.ptr());
  if (stop != nullptr) {
    PyErr_SetObject(PyExc_StopIteration, stop);
    Py_DECREF(stop);
  }
  return nullptr;
}

PyObject* send_method(PyObject* self, PyObject* value) {
  PyObject* result = nullptr;
  const PySendResult how = send(self, value, &result);
  return as_iterator(how, result);
}

/// await calls this since Python 3.12. An end without an exception means None.
PyObject* next(PyObject* self) {
  PyObject* result = nullptr;
  if (send(self, Py_None, &result) != PYGEN_RETURN) {
    return result;
  }
  const auto value = py::reinterpret_steal<py::object>(result);
  if (!value.is_none()) set_stop_iteration(value);
  return nullptr;
}

/// Sets the error as raise would: from a class or an instance, with or without a traceback.
void set_thrown(PyObject* const* args, Py_ssize_t num_args) {
  const auto given = [&](Py_ssize_t i) { return i < num_args && args[i] != Py_None ? args[i] : nullptr; };
  if (PyExceptionInstance_Check(args[0])) {
    if (PyObject* const traceback = given(2)) PyException_SetTraceback(args[0], traceback);
    PyErr_SetObject(PyExceptionInstance_Class(args[0]), args[0]);
  } else {
    PyErr_Restore(Py_NewRef(args[0]), Py_XNewRef(given(1)), Py_XNewRef(given(2)));
  }
}

PyObject* throw_into(TaskAwaiter& self, PyObject* const* args, Py_ssize_t num_args) {
  static PyObject* const name = PyUnicode_InternFromString("throw");
  const auto bound = py::reinterpret_steal<py::object>(PyObject_GetAttr(self.inner, name));
  if (!bound) {
    return nullptr;
  }
  PyObject* result = PyObject_Vectorcall(bound.ptr(), args, static_cast<std::size_t>(num_args), nullptr);
  if (result != nullptr || self.future == nullptr) {
    return result;
  }
  const PySendResult how = settle(self, PYGEN_ERROR, result);
  return as_iterator(how, result);
}

PyObject* throw_method(PyObject* object, PyObject* const* args, Py_ssize_t num_args) {
  TaskAwaiter& self = awaiter_of(object);
  if (num_args < 1 || num_args > 3) {
    PyErr_SetString(PyExc_TypeError, "throw() takes one to three arguments");
    return nullptr;
  }
  if (self.inner != nullptr) {
    return throw_into(self, args, num_args);
  }
  set_thrown(args, num_args);
  end(self, PYGEN_ERROR);
  return nullptr;
}

PyObject* close_method(PyObject* object, PyObject* /*unused*/) {
  TaskAwaiter& self = awaiter_of(object);
  return guarded([&] {
    if (self.future != nullptr) drop_future(self);
    Py_CLEAR(self.task);
    return self.inner != nullptr ? PyObject_CallMethod(self.inner, "close", nullptr) : Py_NewRef(Py_None);
  });
}

int traverse(PyObject* object, visitproc visit, void* arg) {
  TaskAwaiter& self = awaiter_of(object);
  Py_VISIT(self.task);
  Py_VISIT(self.inner);
  Py_VISIT(self.future);
  return 0;
}

int clear(PyObject* object) {
  TaskAwaiter& self = awaiter_of(object);
  Py_CLEAR(self.task);
  Py_CLEAR(self.inner);
  Py_CLEAR(self.future);
  return 0;
}

void dealloc(PyObject* object) {
  PyObject_GC_UnTrack(object);
  clear(object);
  if (spares.count < spares.awaiters.size()) {
    spares.awaiters[spares.count++] = &awaiter_of(object);
  } else {
    PyObject_GC_Del(object);
  }
}

template <class Function>
PyCFunction as_method(Function* function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

PyTypeObject make_type() {
  static std::array methods{
      PyMethodDef{"send", &send_method, METH_O, nullptr},
      PyMethodDef{"throw", as_method(&throw_method), METH_FASTCALL, nullptr},
      PyMethodDef{"close", &close_method, METH_NOARGS, nullptr},
      PyMethodDef{},
  };
  static PyAsyncMethods async{};
  async.am_send = &send;
  PyTypeObject type = static_type("pydoca.TaskAwaiter", sizeof(TaskAwaiter), &dealloc, Py_TPFLAGS_HAVE_GC);
  type.tp_traverse = &traverse;
  type.tp_clear = &clear;
  type.tp_as_async = &async;
  type.tp_iter = &PyObject_SelfIter;
  type.tp_iternext = &next;
  type.tp_methods = methods.data();
  return type;
}

PyTypeObject* awaiter_type() {
  static PyTypeObject type = make_type();
  ready(type);
  return &type;
}

TaskAwaiter* allocate() noexcept {
  static PyTypeObject* const type = awaiter_type();
  if (spares.count == 0) {
    return PyObject_GC_New(TaskAwaiter, type);
  }
  TaskAwaiter* const awaiter = spares.awaiters[--spares.count];
  _Py_NewReference(awaiter->object());
  return awaiter;
}

PyObject* await(PyObject* task) {
  TaskAwaiter* const awaiter = allocate();
  if (awaiter == nullptr) {
    return nullptr;
  }
  awaiter->task = Py_NewRef(task);
  awaiter->inner = nullptr;
  awaiter->future = nullptr;
  awaiter->before = 0;
  awaiter->traced.begin = 0;
  return awaiter->object();
}

}  // namespace

void set_await_slot(PyHeapTypeObject* type) {
  static_cast<void>(awaiter_type());
  type->as_async.am_await = &await;
  type->ht_type.tp_as_async = &type->as_async;
}

}  // namespace pydoca::bindings
