#include "loop/running_loop.hpp"

#include "convert/python.hpp"

#include <pybind11/gil_safe_call_once.h>

namespace pydoca::bindings {

namespace py = pybind11;

namespace {

const py::object& get_running_loop() {
  PYBIND11_CONSTINIT static py::gil_safe_call_once_and_store<py::object> storage;
  const auto find = [] { return py::object(bridge_module().attr("asyncio").attr("get_running_loop")); };
  return storage.call_once_and_store_result(find).get_stored();
}

/// As PyObject_CallNoArgs, for a function of C at a part of the cost.
PyObject* call(PyObject* function) {
  return PyCFunction_CheckExact(function) != 0 && PyCFunction_GET_FLAGS(function) == METH_NOARGS
             ? PyCFunction_GET_FUNCTION(function)(PyCFunction_GET_SELF(function), nullptr)
             : PyObject_CallNoArgs(function);
}

}  // namespace

/// The loop itself: since Python 3.12 asyncio answers without a system call.
py::object running_loop_mark() {
  auto loop = py::reinterpret_steal<py::object>(call(get_running_loop().ptr()));
  if (!loop) PyErr_Clear();
  return loop;
}

}  // namespace pydoca::bindings
