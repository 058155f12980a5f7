#include "call/raw_method.hpp"
#include "convert/collectable.hpp"
#include "convert/convert.hpp"
#include "engine/engine_object.hpp"
#include "future/task_future.hpp"
#include "loop/awaiter.hpp"
#include "loop/static_type.hpp"

#include <array>
#include <cstddef>
#include <new>
#include <span>
#include <string>
#include <structmember.h>
#include <utility>

namespace pydoca::bindings {

/// The part of a future's Python object that CPython itself reads.
struct TaskFutureHead {
  PyObject ob_base;
  PyObject* weak_references;
  char is_awaited;  ///< asyncio's mark of futures, and whether a coroutine has just yielded it
};

struct TaskFuturePlace {
  static PyTypeObject& type();
  static py::object make(const py::object& task, const py::object& loop);
  static void dealloc(PyObject* self);

  TaskFutureHead head;
  TaskFuture future;
};

namespace {

TaskFuture& future_of(PyObject* self) noexcept { return TaskFuture::of(self); }

py::object given_or_none(PyObject* given) {
  return py::reinterpret_borrow<py::object>(given != nullptr ? given : Py_None);
}

PyObject* result_of(PyObject* self) { return future_of(self).result().release().ptr(); }
PyObject* exception_of(PyObject* self) { return future_of(self).exception().release().ptr(); }
PyObject* is_done(PyObject* self) { return PyBool_FromLong(future_of(self).is_done() ? 1 : 0); }
PyObject* is_cancelled(PyObject* self) { return PyBool_FromLong(future_of(self).is_cancelled() ? 1 : 0); }
PyObject* loop_of(PyObject* self) { return Py_NewRef(future_of(self).loop().ptr()); }
PyObject* cancelled_error_of(PyObject* self) { return future_of(self).make_cancelled_error().release().ptr(); }
void stop_draining_of(PyObject* self) { future_of(self).stop_draining(); }

PyObject* cancel_future(PyObject* self, const std::array<PyObject*, 1>& message) {
  return PyBool_FromLong(future_of(self).cancel(given_or_none(message[0])) ? 1 : 0);
}

void add_callback(PyObject* self, const std::array<PyObject*, 2>& given) {
  const py::object variables = given_or_none(given[1]);
  if (PyCallable_Check(given[0]) == 0) {
    throw py::type_error("add_done_callback: fn must be callable, and " + std::string(Py_TYPE(given[0])->tp_name) +
                         " is not");
  }
  if (!variables.is_none() && !PyContext_CheckExact(variables.ptr())) {
    throw py::type_error("add_done_callback: context must be a contextvars.Context, not " + type_name(variables));
  }
  future_of(self).add_done_callback(py::reinterpret_borrow<py::object>(given[0]),
                                    variables.is_none() ? py::object() : variables);
}

PyObject* remove_callback(PyObject* self, const std::array<PyObject*, 1>& function) {
  return PyLong_FromSize_t(future_of(self).remove_done_callback(py::reinterpret_borrow<py::object>(function[0])));
}

/// The iterator of an await: yields the future once, unless it is done.
struct FutureAwaiter {
  PyObject ob_base;
  PyObject* future;  ///< null: it is over
  bool has_yielded;

  // AwaiterType uses these.
  static PySendResult send(FutureAwaiter& self, PyObject* value, PyObject** result);
  static PyObject* throw_in(FutureAwaiter& self, PyObject* const* args, Py_ssize_t num_args);
  static PyObject* close(FutureAwaiter& self);
  static int traverse(FutureAwaiter& self, visitproc visit, void* arg);
  static void clear(FutureAwaiter& self) { Py_CLEAR(self.future); }
};

using FutureAwaiterType = AwaiterType<FutureAwaiter>;

/// What the iterator yields to asyncio's task, which waits for the future then.
PyObject* yield_future(FutureAwaiter& self) {
  self.has_yielded = true;
  reinterpret_cast<TaskFutureHead*>(self.future)->is_awaited = 1;
  FutureAwaiterType::track(self);
  return Py_NewRef(self.future);
}

PySendResult FutureAwaiter::send(FutureAwaiter& self, PyObject* /*value*/, PyObject** result) {
  *result = nullptr;
  if (self.future == nullptr) {
    PyErr_SetString(PyExc_RuntimeError, "this await of a future is over; await the future again");
    return PYGEN_ERROR;
  }
  if (!self.has_yielded && !future_of(self.future).is_done()) {
    *result = yield_future(self);
    return PYGEN_NEXT;
  }
  const auto future = py::reinterpret_steal<py::object>(std::exchange(self.future, nullptr));
  *result = guarded([&] { return result_of(future.ptr()); });
  return *result != nullptr ? PYGEN_RETURN : PYGEN_ERROR;
}

/// asyncio cancels a future that a coroutine waits for, and throws nothing into the coroutine before its end. A
/// cancellation that other code throws in waits for the device, too.
PyObject* cancel_awaited(FutureAwaiter& self) {
  const py::error_already_set error;
  TaskFuture& future = future_of(self.future);
  future.cancel(py::none());
  if (!future.is_done()) return yield_future(self);
  Py_CLEAR(self.future);
  raise(error.value());
}

PyObject* FutureAwaiter::throw_in(FutureAwaiter& self, PyObject* const* args, Py_ssize_t num_args) {
  set_thrown(args, num_args);
  if (self.future != nullptr && !future_of(self.future).is_done() && TaskFuture::is_cancellation()) {
    return guarded([&] { return cancel_awaited(self); });
  }
  Py_CLEAR(self.future);
  return nullptr;
}

PyObject* FutureAwaiter::close(FutureAwaiter& self) {
  Py_CLEAR(self.future);
  return Py_NewRef(Py_None);
}

int FutureAwaiter::traverse(FutureAwaiter& self, visitproc visit, void* arg) {
  Py_VISIT(self.future);
  return 0;
}

PyObject* await_future(PyObject* self) {
  FutureAwaiter* const awaiter = FutureAwaiterType::allocate();
  if (awaiter == nullptr) return nullptr;
  awaiter->future = Py_NewRef(self);
  awaiter->has_yielded = false;
  return &awaiter->ob_base;
}

std::span<PyMethodDef> future_methods() {
  static std::array methods{
      raw_method<"result($self, /)", &result_of>("The value; raises the task's error, or CancelledError."),
      raw_method<"exception($self, /)", &exception_of>("The task's error, or None; raises CancelledError."),
      raw_method<"done($self, /)", &is_done>("Whether it has an outcome, or is cancelled."),
      raw_method<"cancelled($self, /)", &is_cancelled>("Whether it is cancelled."),
      raw_method<"cancel($self, /, msg=None)", &cancel_future>(
          "Asks for its end: it is cancelled once the device has released the memory. The second time, at once.\n"
          "False when it is done."),
      raw_method<"add_done_callback($self, /, fn, *, context=None)", &add_callback>(
          "Has the loop call fn(future) once it is done, in that contextvars.Context or in a copy of this one."),
      raw_method<"remove_done_callback($self, /, fn)", &remove_callback>(
          "Removes fn from the callbacks; returns how many times it was there."),
      raw_method<"get_loop($self, /)", &loop_of>("The event loop that it belongs to."),
      raw_method<"_make_cancelled_error($self, /)", &cancelled_error_of>("The CancelledError that it raises."),
      raw_method<"_stop_draining($self, /)", &stop_draining_of>("Gives up the memory that the device has."),
      PyMethodDef{},
  };
  return methods;
}

PyObject* repr_of_future(PyObject* self) {
  return guarded([&] { return py::str(future_of(self).describe()).release().ptr(); });
}

/// asyncio.gather() reads it.
PyObject* message_of(PyObject* self, void* /*unused*/) { return Py_NewRef(future_of(self).message().ptr()); }

int visit_future(PyObject* self, visitproc visit, void* arg) {
  References references(visit, arg);
  future_of(self).each_own_reference(references);
  return references.stop();
}

int clear_future(PyObject* self) {
  References references;
  future_of(self).each_own_reference(references);
  return 0;
}

/// The running loop, to which the engine belongs from now on.
py::object enter_running_loop(EngineObject& engine) {
  LoopTurn& turn = engine.turn();
  py::object loop = turn.loop().is_running() ? turn.loop().get() : engine.bridge().attr("bind")();
  turn.kick();
  return loop;
}

PyTypeObject make_future_type() {
  static std::array members{
      PyMemberDef{"_asyncio_future_blocking", T_BOOL, offsetof(TaskFutureHead, is_awaited), 0, nullptr},
      PyMemberDef{},
  };
  static std::array properties{
      raw_property("_cancel_message", &message_of, nullptr, nullptr),
      PyGetSetDef{},
  };
  static PyAsyncMethods async{};
  async.am_await = &await_future;
  PyTypeObject type =
      static_type("pydoca.TaskFuture", sizeof(TaskFuturePlace), &TaskFuturePlace::dealloc, Py_TPFLAGS_HAVE_GC);
  type.tp_traverse = &visit_future;
  type.tp_clear = &clear_future;
  type.tp_repr = &repr_of_future;
  type.tp_as_async = &async;
  type.tp_methods = future_methods().data();
  type.tp_members = members.data();
  type.tp_getset = properties.data();
  type.tp_weaklistoffset = offsetof(TaskFutureHead, weak_references);
  return type;
}

}  // namespace

PyTypeObject& TaskFuturePlace::type() {
  static PyTypeObject type = make_future_type();
  ready(type);
  return type;
}

py::object TaskFuturePlace::make(const py::object& task, const py::object& loop) {
  FutureAwaiterType::prepare("pydoca.TaskFutureAwaiter");
  TaskFuturePlace* const place = PyObject_GC_New(TaskFuturePlace, &type());
  if (place == nullptr) throw py::error_already_set();
  PyObject* const self = &place->head.ob_base;
  place->head.weak_references = nullptr;
  place->head.is_awaited = 0;
  try {
    new (&place->future) TaskFuture(self, task, loop);
  } catch (...) {
    PyObject_GC_Del(place);
    throw;
  }
  PyObject_GC_Track(self);
  return py::reinterpret_steal<py::object>(self);
}

void TaskFuturePlace::dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  auto& place = *reinterpret_cast<TaskFuturePlace*>(self);
  if (place.head.weak_references != nullptr) PyObject_ClearWeakRefs(self);
  place.future.~TaskFuture();
  PyObject_GC_Del(self);
}

TaskFuture& TaskFuture::of(PyObject* self) noexcept { return reinterpret_cast<TaskFuturePlace*>(self)->future; }

py::object TaskFuture::make(PyObject* task) {
  auto& its = object_of<TaskObject>(task);
  its.require_submitted("as_future of");
  its.engine().require_thread("as_future");
  return TaskFuturePlace::make(py::reinterpret_borrow<py::object>(task), enter_running_loop(its.engine()));
}

}  // namespace pydoca::bindings
