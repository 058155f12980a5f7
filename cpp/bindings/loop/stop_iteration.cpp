#include "loop/stop_iteration.hpp"

#include "loop/static_type.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace pydoca::bindings {

namespace {

/// Idle ones. Each has one reference, which is the list's, so that the garbage collector may go on seeing it.
struct FreeErrors {
  std::array<PyStopIterationObject*, 16> errors{};
  std::size_t count = 0;
};

constinit FreeErrors free_errors;

PyObject* no_args() noexcept {
  static PyObject* const none = PyTuple_New(0);
  return none;
}

PyTypeObject* base() noexcept { return reinterpret_cast<PyTypeObject*>(PyExc_StopIteration); }

/// Whether the exception has a value and nothing else. An await drops it unchanged; code that catches it may have added
/// to it.
bool is_plain(const PyStopIterationObject& error) noexcept {
  return error.args == no_args() && error.dict == nullptr && error.notes == nullptr && error.traceback == nullptr &&
         error.context == nullptr && error.cause == nullptr && error.suppress_context == 0;
}

void recycle(PyObject* object) {
  auto* const error = reinterpret_cast<PyStopIterationObject*>(object);
  if (free_errors.count == free_errors.errors.size() || !is_plain(*error)) [[unlikely]] {
    base()->tp_dealloc(object);
    return;
  }
  Py_SET_REFCNT(object, 1);  // before the end of the value, which may have the garbage collector run
  free_errors.errors[free_errors.count++] = error;
  Py_XDECREF(std::exchange(error->value, nullptr));
}

PyTypeObject make_stop_type() {
  PyTypeObject type = static_type("pydoca.StopIteration", sizeof(PyStopIterationObject), &recycle);
  type.tp_base = base();
  return type;
}

/// Null with a Python error set.
PyTypeObject* stop_type() noexcept {
  static PyTypeObject type = make_stop_type();
  static const bool is_ready = PyType_Ready(&type) == 0;
  return is_ready ? &type : nullptr;
}

/// Null with a Python error set.
PyStopIterationObject* allocate_error(PyTypeObject* type) noexcept {
  if (free_errors.count == 0) {
    return reinterpret_cast<PyStopIterationObject*>(base()->tp_new(type, no_args(), nullptr));
  }
  return free_errors.errors[--free_errors.count];
}

/// Takes the reference.
void raise_error(PyObject* error) noexcept {
#if PY_VERSION_HEX >= 0x030C0000
  PyErr_SetRaisedException(error);
#else
  PyErr_Restore(Py_NewRef(reinterpret_cast<PyObject*>(Py_TYPE(error))), error, nullptr);
#endif
}

/// Whether a trace function, or a tool of sys.monitoring, is told of exceptions. Debuggers recognise the end of an
/// await by the type StopIteration itself.
bool is_traced() noexcept {
#if PY_VERSION_HEX >= 0x030D0000
  static PyMonitoringState tools{};
  static std::uint64_t version = 0;
  constexpr std::uint8_t event = PY_MONITORING_EVENT_RAISE;
  return PyMonitoring_EnterScope(&tools, &version, &event, 1) == 0 && tools.active != 0;
#else
  return PyThreadState_Get()->c_tracefunc != nullptr;
#endif
}

}  // namespace

void set_new_stop_iteration(const py::object& value) noexcept {
  PyObject* const error = PyObject_CallOneArg(PyExc_StopIteration, value.ptr());
  if (error != nullptr) {
    PyErr_SetObject(PyExc_StopIteration, error);
    Py_DECREF(error);
  }
}

void set_stop_iteration(const py::object& value) noexcept {
  if (is_traced()) [[unlikely]] {
    set_new_stop_iteration(value);
    return;
  }
  PyTypeObject* const type = stop_type();
  PyStopIterationObject* const error = type != nullptr ? allocate_error(type) : nullptr;
  if (error != nullptr) {
    Py_XSETREF(error->value, Py_NewRef(value.ptr()));
    raise_error(reinterpret_cast<PyObject*>(error));
  }
}

}  // namespace pydoca::bindings
