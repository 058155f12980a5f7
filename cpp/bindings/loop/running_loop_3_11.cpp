#include "loop/running_loop.hpp"

namespace pydoca::bindings {

namespace py = pybind11;

/// Up to Python 3.11 asyncio's own question costs a system call. What it looks at is not public: an object in the
/// thread's dict, which asyncio makes anew for every run of a loop.
py::object running_loop_mark() {
  static PyObject* const key = PyUnicode_InternFromString("__asyncio_running_event_loop__");
  PyObject* const state = PyThreadState_GetDict();
  PyObject* const mark = state != nullptr && key != nullptr ? PyDict_GetItemWithError(state, key) : nullptr;
  return py::reinterpret_borrow<py::object>(mark);
}

}  // namespace pydoca::bindings
