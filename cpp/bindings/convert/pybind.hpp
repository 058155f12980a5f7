/// pybind11 under the name that all bindings use.
#pragma once

#include <pybind11/pybind11.h>

namespace pydoca::bindings {

namespace py = pybind11;
using namespace py::literals;

/// Whether the interpreter ends.
inline bool is_finalizing() noexcept {
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsFinalizing() != 0;
#else
  return _Py_IsFinalizing() != 0;
#endif
}

/// A class that another file binds: memory/bind_mmap.cpp adds Device.mmap().
template <class T>
py::classh<T> bound_class() {
  return py::reinterpret_borrow<py::classh<T>>(py::type::of<T>());
}

/// The base of objects that other code refers to: they are not copied.
class NotCopied {
 public:
  NotCopied(const NotCopied&) = delete;
  NotCopied& operator=(const NotCopied&) = delete;

 protected:
  NotCopied() = default;
  ~NotCopied() = default;
};

}  // namespace pydoca::bindings
