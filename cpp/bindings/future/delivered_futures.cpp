#include "call/raw_method.hpp"
#include "convert/collectable.hpp"
#include "engine/engine_object.hpp"
#include "future/task_future.hpp"
#include "loop/static_type.hpp"

#include <array>
#include <cstddef>
#include <new>
#include <utility>
#include <vector>

namespace pydoca::bindings {

namespace {

/// Has the methods of a future by which an engine wakes its waiters: done() and set_result().
struct DeliveredFutures {
  PyObject ob_base;
  const EngineObject* engine;
  std::vector<py::object> futures;
  std::size_t num_run;  ///< the callbacks of the first ones have run
};

/// The one that the engine's present batch adds to, without a reference; null: none has begun.
DeliveredFutures* open_delivery = nullptr;

DeliveredFutures& delivered_of(PyObject* self) noexcept { return *reinterpret_cast<DeliveredFutures*>(self); }

void call_soon(PyObject* delivered, const py::object& loop) {
  static PyObject* const name = PyUnicode_InternFromString("call_soon");
  static PyObject* const run = PyUnicode_InternFromString("run");
  const auto method = py::reinterpret_steal<py::object>(PyObject_GetAttr(delivered, run));
  const auto handle =
      py::reinterpret_steal<py::object>(method ? PyObject_CallMethodOneArg(loop.ptr(), name, method.ptr()) : nullptr);
  if (!handle) throw py::error_already_set();
}

const py::object& loop_of_next(const DeliveredFutures& self) {
  return TaskFuture::of(self.futures[self.num_run].ptr()).loop();
}

PyObject* is_set(PyObject* /*self*/, PyObject* /*unused*/) { return Py_NewRef(Py_False); }

/// The end of the batch. Futures of another loop than the first one's are of a loop that was closed.
PyObject* set_result(PyObject* self, PyObject* /*result*/) {
  return guarded([self] {
    DeliveredFutures& delivered = delivered_of(self);
    if (open_delivery == &delivered) open_delivery = nullptr;
    for (const py::object& future : delivered.futures) TaskFuture::of(future.ptr()).delivery_ended();
    call_soon(self, loop_of_next(delivered));
  });
}

PyObject* run_all(PyObject* self, PyObject* /*unused*/) {
  return guarded([self] {
    DeliveredFutures& delivered = delivered_of(self);
    try {
      while (delivered.num_run != delivered.futures.size()) {
        const py::object future = std::move(delivered.futures[delivered.num_run++]);
        TaskFuture::of(future.ptr()).run_callbacks();
      }
    } catch (...) {
      if (delivered.num_run != delivered.futures.size()) call_soon(self, loop_of_next(delivered));
      throw;
    }
  });
}

int visit_delivered(PyObject* self, visitproc visit, void* arg) {
  References references(visit, arg);
  for (const py::object& future : delivered_of(self).futures) references.keep(future);
  return references.stop();
}

int clear_delivered(PyObject* self) {
  DeliveredFutures& delivered = delivered_of(self);
  delivered.num_run = 0;
  const std::vector<py::object> futures = std::exchange(delivered.futures, {});
  return 0;
}

void dealloc_delivered(PyObject* self) {
  PyObject_GC_UnTrack(self);
  DeliveredFutures& delivered = delivered_of(self);
  if (open_delivery == &delivered) open_delivery = nullptr;
  delivered.futures.~vector();
  PyObject_GC_Del(self);
}

PyTypeObject make_delivered_type() {
  static std::array methods{
      PyMethodDef{"done", &is_set, METH_NOARGS, nullptr},
      PyMethodDef{"set_result", &set_result, METH_O, nullptr},
      PyMethodDef{"run", &run_all, METH_NOARGS, nullptr},
      PyMethodDef{},
  };
  PyTypeObject type =
      static_type("pydoca.DeliveredFutures", sizeof(DeliveredFutures), &dealloc_delivered, Py_TPFLAGS_HAVE_GC);
  type.tp_traverse = &visit_delivered;
  type.tp_clear = &clear_delivered;
  type.tp_methods = methods.data();
  return type;
}

py::object open(const EngineObject& engine) {
  static PyTypeObject type = make_delivered_type();
  ready(type);
  DeliveredFutures* const made = PyObject_GC_New(DeliveredFutures, &type);
  if (made == nullptr) throw py::error_already_set();
  made->engine = &engine;
  new (&made->futures) std::vector<py::object>();
  made->num_run = 0;
  PyObject_GC_Track(&made->ob_base);
  return py::reinterpret_steal<py::object>(&made->ob_base);
}

}  // namespace

void deliver_later(EngineObject& engine, py::object future) {
  if (open_delivery != nullptr && open_delivery->engine == &engine) {
    open_delivery->futures.push_back(std::move(future));
    return;
  }
  const py::object made = open(engine);
  DeliveredFutures& delivered = delivered_of(made.ptr());
  delivered.futures.push_back(std::move(future));
  open_delivery = &delivered;
  engine.wake_later(made, py::none());
}

}  // namespace pydoca::bindings
