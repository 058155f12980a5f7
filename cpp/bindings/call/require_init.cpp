#include "call/require_init.hpp"

#include "convert/pybind_internals.hpp"

#include <cstddef>

namespace pydoca::bindings {

namespace {

/// pybind11 calls this allocator only for the first use of an object whose __init__() was never called.
void* refuse(std::size_t /*size*/) {
  throw py::type_error("the object was made by __new__() alone; its __init__() was never called");
}

}  // namespace

void require_init(const py::module_& module) {
  const auto names = py::reinterpret_borrow<py::dict>(module.attr("__dict__"));
  for (const auto& [name, value] : names) {
    if (PyType_Check(value.ptr()) != 0) guard_creation(reinterpret_cast<PyTypeObject*>(value.ptr()), &refuse);
  }
}

}  // namespace pydoca::bindings
