#include "loop/awaiter.hpp"

namespace pydoca::bindings {

void set_thrown(PyObject* const* args, Py_ssize_t num_args) {
  const auto given = [&](Py_ssize_t i) { return i < num_args && args[i] != Py_None ? args[i] : nullptr; };
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
