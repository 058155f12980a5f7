#include "engine/event_awaiter.hpp"

#include "call/raw_method.hpp"
#include "convert/convert.hpp"
#include "convert/python.hpp"
#include "engine/awaitable.hpp"
#include "engine/engine_object.hpp"
#include "loop/static_type.hpp"
#include "loop/stop_iteration.hpp"
#include "trace/awaits.hpp"

#include <array>
#include <cstddef>
#include <utility>

namespace pydoca::bindings {

namespace {

/// The most completions that an await delivers at once.
constexpr std::size_t look_max = 256;

/// The iterator of an await that has its value already: its first step is its last. A plain struct, allocated by
/// CPython. It never suspends, so it is part of no reference cycle.
struct Taken {
  PyObject ob_base;
  PyObject* value;  ///< null once it was delivered
};

Taken& taken_of(PyObject* self) noexcept { return *reinterpret_cast<Taken*>(self); }

PySendResult send_taken(PyObject* self, PyObject* /*value*/, PyObject** result) {
  *result = std::exchange(taken_of(self).value, nullptr);
  if (*result != nullptr) {
    return PYGEN_RETURN;
  }
  PyErr_SetString(PyExc_RuntimeError, "this await is over; await the object again");
  return PYGEN_ERROR;
}

PyObject* next_taken(PyObject* self) {
  PyObject* result = nullptr;
  if (send_taken(self, Py_None, &result) == PYGEN_RETURN) {
    set_stop_iteration(py::reinterpret_steal<py::object>(result));
  }
  return nullptr;
}

PyObject* send_taken_method(PyObject* self, PyObject* /*value*/) { return next_taken(self); }

/// For a program that drops the await before its first step.
PyObject* close_taken_method(PyObject* self, PyObject* /*unused*/) {
  Py_CLEAR(taken_of(self).value);
  return Py_NewRef(Py_None);
}

void dealloc_taken(PyObject* self) {
  Py_CLEAR(taken_of(self).value);
  PyObject_Free(self);
}

PyTypeObject make_taken_type() {
  static std::array methods{
      PyMethodDef{"send", &send_taken_method, METH_O, nullptr},
      PyMethodDef{"close", &close_taken_method, METH_NOARGS, nullptr},
      PyMethodDef{},
  };
  static PyAsyncMethods async{};
  async.am_send = &send_taken;
  PyTypeObject type = static_type("pydoca.EventAwaiter", sizeof(Taken), &dealloc_taken);
  type.tp_as_async = &async;
  type.tp_iter = &PyObject_SelfIter;
  type.tp_iternext = &next_taken;
  type.tp_methods = methods.data();
  return type;
}

PyTypeObject* taken_type() {
  static PyTypeObject type = make_taken_type();
  ready(type);
  return &type;
}

PyObject* as_taken(py::object value) {
  static PyTypeObject* const type = taken_type();
  Taken* const taken = PyObject_New(Taken, type);
  if (taken == nullptr) throw py::error_already_set();
  taken->value = value.release().ptr();
  return &taken->ob_base;
}

/// Null when it has to wait, or the loop's next turn is due.
PyObject* take_at_once(Awaitable& event) {
  EngineObject& engine = event.engine();
  LoopTurn& turn = engine.turn();
  if (!turn.loop().is_running() || engine.is_progressing()) {
    return nullptr;
  }
  turn.begin();
  if (!event.ready()) engine.look(look_max);
  if (!event.ready() || turn.is_over()) {
    return nullptr;
  }
  try {
    PyObject* const iterator = as_taken(event.take());
    event.give_up();
    return iterator;
  } catch (...) {
    event.give_up();
    throw;
  }
}

PyObject* await_event(PyObject* self) {
  return guarded([&] {
    const TracedWait traced = trace::is_on() ? begin_traced_wait() : TracedWait();
    PyObject* const taken = take_at_once(object_of<Awaitable>(self));
    if (taken != nullptr) {
      if (traced.begin != 0) [[unlikely]]
        end_traced_wait(traced, 0);
      return taken;
    }
    return bridge_module().attr("take_event")(py::handle(self)).attr("__await__")().release().ptr();
  });
}

}  // namespace

void set_event_await_slot(PyHeapTypeObject* type) {
  static_cast<void>(taken_type());
  type->as_async.am_await = &await_event;
  type->ht_type.tp_as_async = &type->as_async;
}

}  // namespace pydoca::bindings
