#include "loop/awaiter.hpp"

namespace pydoca::bindings {

namespace {

/// The argument at that place; null for None and for none.
PyObject* given_at(Py_ssize_t place, PyObject* const* args, Py_ssize_t num_args) noexcept {
  return place < num_args && args[place] != Py_None ? args[place] : nullptr;
}

}  // namespace

bool can_be_thrown(PyObject* const* args, Py_ssize_t num_args) noexcept {
  if (num_args < 1 || num_args > 3) {
    PyErr_Format(PyExc_TypeError, "throw() takes one to three arguments, not %zd", num_args);
    return false;
  }
  const bool is_instance = PyExceptionInstance_Check(args[0]);
  PyObject* const traceback = given_at(2, args, num_args);
  if (!is_instance && !PyExceptionClass_Check(args[0])) {
    PyErr_Format(PyExc_TypeError, "throw() takes an exception, not %.100s", Py_TYPE(args[0])->tp_name);
  } else if (is_instance && given_at(1, args, num_args) != nullptr) {
    PyErr_SetString(PyExc_TypeError, "throw() takes a value beside a class, not beside an exception");
  } else if (traceback != nullptr && !PyTraceBack_Check(traceback)) {
    PyErr_Format(PyExc_TypeError, "throw() takes a traceback as its third argument, not %.100s",
                 Py_TYPE(traceback)->tp_name);
  } else {
    return true;
  }
  return false;
}

void set_thrown(PyObject* const* args, Py_ssize_t num_args) {
  const auto given = [&](Py_ssize_t place) { return given_at(place, args, num_args); };
  if (PyExceptionInstance_Check(args[0])) {
    if (PyObject* const traceback = given(2)) PyException_SetTraceback(args[0], traceback);
    PyErr_SetObject(PyExceptionInstance_Class(args[0]), args[0]);
  } else {
    PyErr_Restore(Py_NewRef(args[0]), Py_XNewRef(given(1)), Py_XNewRef(given(2)));
  }
}

PyObject* throw_into(PyObject* inner, PyObject* const* args, Py_ssize_t num_args) {
  static PyObject* const name = PyUnicode_InternFromString("throw");
  const auto bound = py::reinterpret_steal<py::object>(PyObject_GetAttr(inner, name));
  return bound ? PyObject_Vectorcall(bound.ptr(), args, static_cast<std::size_t>(num_args), nullptr) : nullptr;
}

PyObject* as_iterator(PySendResult how, PyObject* result) {
  if (how != PYGEN_RETURN) {
    return result;
  }
  set_new_stop_iteration(py::reinterpret_steal<py::object>(result));
  return nullptr;
}

}  // namespace pydoca::bindings
