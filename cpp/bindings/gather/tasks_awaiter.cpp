#include "gather/tasks_awaiter.hpp"

#include "call/raw_method.hpp"
#include "convert/convert.hpp"
#include "convert/python.hpp"
#include "engine/engine_object.hpp"
#include "engine/never_awaited.hpp"
#include "gather/watched_tasks.hpp"
#include "loop/awaiter.hpp"
#include "loop/static_type.hpp"
#include "trace/awaits.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <optional>
#include <utility>

namespace pydoca::bindings {

namespace {

/// The most completions that a look delivers.
constexpr std::size_t most_per_look = 256;

/// The asynchronous iterator. CPython allocates it.
struct CompletedTasks {
  PyObject ob_base;
  WatchedTasks tasks;
};

enum class AwaitEnd : std::uint8_t { all_done, next_done };

enum class AwaitState : std::uint8_t {
  fresh,      ///< its first step has not begun
  waiting,    ///< inner is the iterator of a future
  turning,    ///< the loop's turn comes first
  giving_up,  ///< inner is the coroutine of the bridge
  over,
};

/// One await of several tasks.
struct TasksAwaiter {
  PyObject ob_base;
  PyObject* completed;              ///< the iterator of a step
  std::optional<WatchedTasks> own;  ///< the tasks of a gather
  WatchedTasks* tasks;              ///< those of one of both; null: it is over
  PyObject* inner;
  AwaitEnd until;
  AwaitState state;
  TracedWait traced;

  bool is_done() const noexcept { return tasks->all_done() || (until == AwaitEnd::next_done && tasks->has_arrived()); }
  /// The number of awaits that would end at once.
  unsigned num_ready() const noexcept {
    return until == AwaitEnd::all_done ? static_cast<unsigned>(tasks->num_arrivals()) : (is_done() ? 1U : 0U);
  }
  const std::uint64_t& counter() const noexcept {
    return until == AwaitEnd::all_done ? tasks->completions_of_first_left() : tasks->num_arrivals();
  }

  // AwaiterType uses these.
  static PySendResult send(TasksAwaiter& self, PyObject* value, PyObject** result);
  static PyObject* throw_in(TasksAwaiter& self, PyObject* const* args, Py_ssize_t num_args);
  static PyObject* close(TasksAwaiter& self);
  static int traverse(TasksAwaiter& self, visitproc visit, void* arg);
  static void clear(TasksAwaiter& self);
  static void drop(TasksAwaiter& self);
  static void extend(PyTypeObject& type);
};

using TasksAwaiterType = AwaiterType<TasksAwaiter>;

CompletedTasks& completed_of(PyObject* self) noexcept { return *reinterpret_cast<CompletedTasks*>(self); }

enum class Looked : std::uint8_t {
  done,
  turn_is_due,
  in_vain,  ///< only the loop's next turns can tell when more is there
};

/// Delivers what is there, then looks as awaits of the tasks, one after another, would do: it suspends no more often
/// than these.
Looked look_at_once(TasksAwaiter& self) {
  EngineObject& engine = self.tasks->engine();
  LoopTurn& turn = engine.turn();
  if (!turn.loop().is_running()) engine.bridge().attr("bind")();
  turn.begin();
  const bool is_first = self.state == AwaitState::fresh;
  if (is_first && self.until == AwaitEnd::all_done && self.tasks->size() > 1 && !self.is_done()) {
    while (engine.look(most_per_look) == most_per_look && !turn.is_over(most_per_look)) {
    }
  }
  unsigned operations = is_first ? self.num_ready() : 0;
  while (!self.is_done()) {
    if (operations != 0 && turn.is_over(operations)) return Looked::turn_is_due;
    if (!turn.progress_until(self.counter()) && !turn.sleep_until(self.counter())) return Looked::in_vain;
    operations = 1;
  }
  return operations != 0 && turn.is_over(operations) ? Looked::turn_is_due : Looked::done;
}

void leave_inner(TasksAwaiter& self) noexcept {
  if (self.state == AwaitState::waiting) self.tasks->forget_future();
  Py_CLEAR(self.inner);
}

PySendResult end(TasksAwaiter& self, PySendResult how) noexcept {
  leave_inner(self);
  self.state = AwaitState::over;
  if (self.traced.begin != 0) [[unlikely]]
    end_traced_wait(std::exchange(self.traced, {}), 0);
  self.tasks = nullptr;
  self.own.reset();
  Py_CLEAR(self.completed);
  return how;
}

PySendResult fail(TasksAwaiter& self) noexcept {
  set_python_error();
  return end(self, PYGEN_ERROR);
}

PySendResult finish(TasksAwaiter& self, PyObject*& result) {
  WatchedTasks& tasks = *self.tasks;
  if (self.until == AwaitEnd::all_done) {
    const py::object failure = tasks.first_failure();
    if (failure) raise(failure);
    result = py::object(tasks.tasks()).release().ptr();
  } else if (tasks.has_arrived()) {
    result = tasks.take_arrived().release().ptr();
  } else {
    PyErr_SetNone(PyExc_StopAsyncIteration);
    return end(self, PYGEN_ERROR);
  }
  return end(self, PYGEN_RETURN);
}

void suspend(TasksAwaiter& self) {
  static PyObject* const name = PyUnicode_InternFromString("__await__");
  if (self.tasks->has_waiter()) {
    raise_named("InUseError", "as_completed: another step of this iteration waits for a task; await one at a time");
  }
  py::object future = self.tasks->engine().turn().loop().create_future();
  self.inner = PyObject_CallMethodNoArgs(future.ptr(), name);
  if (self.inner == nullptr) throw py::error_already_set();
  if (self.until == AwaitEnd::all_done) {
    self.tasks->wake_at_first_left(std::move(future));
  } else {
    self.tasks->wake_at_next(std::move(future));
  }
  self.state = AwaitState::waiting;
  TasksAwaiterType::track(self);
}

/// Passes the error that is set to the bridge's coroutine, which waits until the device has released the memory when
/// the error is a cancellation, and raises it.
PySendResult give_up(TasksAwaiter& self, PyObject*& result) {
  const py::error_already_set error;
  const py::list tasks = self.tasks->waited_for();
  self.tasks->cancel();
  leave_inner(self);
  self.inner = from_python("give_up_tasks")(tasks, error.value()).release().ptr();
  TasksAwaiterType::track(self);
  self.state = AwaitState::giving_up;
  return PyIter_Send(self.inner, Py_None, &result);
}

PySendResult settle(TasksAwaiter& self, PySendResult how, PyObject*& result);

PySendResult go_on(TasksAwaiter& self, PyObject*& result) {
  switch (look_at_once(self)) {
    case Looked::done:
      return finish(self, result);
    case Looked::turn_is_due:
      self.state = AwaitState::turning;
      TasksAwaiterType::track(self);
      result = Py_NewRef(Py_None);
      return PYGEN_NEXT;
    case Looked::in_vain:
      break;
  }
  suspend(self);
  return settle(self, PyIter_Send(self.inner, Py_None, &result), result);
}

/// The end of a step of inner.
PySendResult settle(TasksAwaiter& self, PySendResult how, PyObject*& result) {
  if (how == PYGEN_ERROR && self.state == AwaitState::waiting) {
    how = give_up(self, result);
  } else if (how == PYGEN_RETURN && self.state == AwaitState::waiting) {
    Py_CLEAR(result);
    leave_inner(self);
    return go_on(self, result);
  }
  return how == PYGEN_NEXT ? how : end(self, how);
}

PySendResult begin(TasksAwaiter& self, PyObject*& result) {
  if (trace::is_on()) [[unlikely]]
    self.traced = begin_traced_wait();
  return go_on(self, result);
}

PySendResult step(TasksAwaiter& self, PyObject* value, PyObject*& result) {
  switch (self.state) {
    case AwaitState::fresh:
      return begin(self, result);
    case AwaitState::turning:
      return self.is_done() ? finish(self, result) : go_on(self, result);
    case AwaitState::waiting:
    case AwaitState::giving_up:
      return settle(self, PyIter_Send(self.inner, value, &result), result);
    case AwaitState::over:
      break;
  }
  PyErr_SetString(PyExc_RuntimeError, "this await is over; call gather() or as_completed() again");
  return PYGEN_ERROR;
}

PySendResult TasksAwaiter::send(TasksAwaiter& self, PyObject* value, PyObject** result) {
  *result = nullptr;
  try {
    return step(self, value, *result);
  } catch (...) {
    Py_CLEAR(*result);
    return fail(self);
  }
}

PySendResult raise_in(TasksAwaiter& self, PyObject* const* args, Py_ssize_t num_args, PyObject*& result) {
  if (self.inner != nullptr) {
    result = throw_into(self.inner, args, num_args);
    return settle(self, result != nullptr ? PYGEN_NEXT : PYGEN_ERROR, result);
  }
  set_thrown(args, num_args);
  if (self.state == AwaitState::over) return PYGEN_ERROR;
  const PySendResult how = give_up(self, result);
  return how == PYGEN_NEXT ? how : end(self, how);
}

/// The tasks were submitted before the await: a cancellation waits for the device also before the first step.
PyObject* TasksAwaiter::throw_in(TasksAwaiter& self, PyObject* const* args, Py_ssize_t num_args) {
  PyObject* result = nullptr;
  try {
    const PySendResult how = raise_in(self, args, num_args, result);
    return as_iterator(how, result);
  } catch (...) {
    static_cast<void>(fail(self));
    return nullptr;
  }
}

PyObject* TasksAwaiter::close(TasksAwaiter& self) {
  const auto inner = py::reinterpret_borrow<py::object>(self.inner);
  end(self, PYGEN_RETURN);
  return inner ? PyObject_CallMethod(inner.ptr(), "close", nullptr) : Py_NewRef(Py_None);
}

int TasksAwaiter::traverse(TasksAwaiter& self, visitproc visit, void* arg) {
  Py_VISIT(self.completed);
  Py_VISIT(self.inner);
  References references(visit, arg);
  if (self.own) self.own->each_reference(references);
  return references.stop();
}

void TasksAwaiter::clear(TasksAwaiter& self) { end(self, PYGEN_RETURN); }

void TasksAwaiter::drop(TasksAwaiter& self) {
  if (self.state == AwaitState::fresh && self.until == AwaitEnd::all_done) [[unlikely]]
    warn_never_awaited("gather");
}

template <bool qualified>
PyObject* await_name(PyObject* object, void* /*unused*/) {
  const bool gathers = reinterpret_cast<const TasksAwaiter*>(object)->until == AwaitEnd::all_done;
  const char* const name = gathers ? "ProgressEngine.gather" : "ProgressEngine.as_completed";
  return PyUnicode_FromString(qualified ? name : std::strchr(name, '.') + 1);
}

/// The object of a call is the coroutine itself, with a coroutine's name.
void TasksAwaiter::extend(PyTypeObject& type) {
  static std::array names{
      raw_property("__name__", &await_name<false>, nullptr, nullptr),
      raw_property("__qualname__", &await_name<true>, nullptr, nullptr),
      PyGetSetDef{},
  };
  type.tp_as_async->am_await = &PyObject_SelfIter;
  type.tp_getset = names.data();
}

/// An awaiter without tasks, which is over until it has them.
TasksAwaiter& new_awaiter(AwaitEnd until) {
  TasksAwaiterType::prepare("pydoca.TasksAwaiter");
  TasksAwaiter* const awaiter = TasksAwaiterType::allocate();
  if (awaiter == nullptr) throw py::error_already_set();
  awaiter->completed = nullptr;
  new (&awaiter->own) std::optional<WatchedTasks>();
  awaiter->tasks = nullptr;
  awaiter->inner = nullptr;
  awaiter->until = until;
  awaiter->state = AwaitState::over;
  awaiter->traced = {};
  return *awaiter;
}

PyObject* make_step(PyObject* completed) {
  TasksAwaiter& awaiter = new_awaiter(AwaitEnd::next_done);
  awaiter.completed = Py_NewRef(completed);
  awaiter.tasks = &completed_of(completed).tasks;
  awaiter.state = AwaitState::fresh;
  return &awaiter.ob_base;
}

/// A program may keep it, and never begin to await it: it is tracked from the beginning.
py::object make_gather(const py::object& engine, py::handle tasks) {
  TasksAwaiter& awaiter = new_awaiter(AwaitEnd::all_done);
  auto object = py::reinterpret_steal<py::object>(&awaiter.ob_base);
  awaiter.tasks = &awaiter.own.emplace(engine, tasks, "gather");
  awaiter.state = AwaitState::fresh;
  TasksAwaiterType::track(awaiter);
  return object;
}

int visit_completed(PyObject* object, visitproc visit, void* arg) {
  References references(visit, arg);
  completed_of(object).tasks.each_reference(references);
  return references.stop();
}

int clear_completed(PyObject* object) {
  References references;
  completed_of(object).tasks.each_reference(references);
  return 0;
}

void dealloc_completed(PyObject* object) {
  PyObject_GC_UnTrack(object);
  completed_of(object).tasks.~WatchedTasks();
  PyObject_GC_Del(object);
}

PyObject* next_of_completed(PyObject* object) {
  return guarded([&] { return make_step(object); });
}

PyObject* close_completed(PyObject* object, PyObject* /*unused*/) {
  return guarded([&] {
    completed_of(object).tasks.cancel();
    return from_python("give_up_tasks")(py::list(), py::none()).release().ptr();
  });
}

PyTypeObject make_completed_type() {
  static std::array methods{
      PyMethodDef{"aclose", &close_completed, METH_NOARGS, nullptr},
      PyMethodDef{},
  };
  static PyAsyncMethods async{};
  async.am_aiter = &PyObject_SelfIter;
  async.am_anext = &next_of_completed;
  PyTypeObject type =
      static_type("pydoca.CompletedTasks", sizeof(CompletedTasks), &dealloc_completed, Py_TPFLAGS_HAVE_GC);
  type.tp_traverse = &visit_completed;
  type.tp_clear = &clear_completed;
  type.tp_as_async = &async;
  type.tp_methods = methods.data();
  return type;
}

py::object make_completed(const py::object& engine, py::handle tasks) {
  static PyTypeObject type = make_completed_type();
  ready(type);
  CompletedTasks* const completed = PyObject_GC_New(CompletedTasks, &type);
  if (completed == nullptr) throw py::error_already_set();
  try {
    new (&completed->tasks) WatchedTasks(engine, tasks, "as_completed");
  } catch (...) {
    PyObject_GC_Del(completed);
    throw;
  }
  PyObject_GC_Track(&completed->ob_base);
  return py::reinterpret_steal<py::object>(&completed->ob_base);
}

}  // namespace

py::object gather_tasks(const py::object& engine, py::handle tasks) { return make_gather(engine, tasks); }

py::object tasks_as_completed(const py::object& engine, py::handle tasks) { return make_completed(engine, tasks); }

}  // namespace pydoca::bindings
