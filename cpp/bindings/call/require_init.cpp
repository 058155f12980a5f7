#include "call/require_init.hpp"

#include <cstddef>
#include <unordered_map>

namespace pydoca::bindings {

namespace {

/// pybind11 calls this allocator only for the first use of an object whose __init__() was never called.
void* refuse(std::size_t /*size*/) {
  throw py::type_error("the object was made by __new__() alone; its __init__() was never called");
}

using Initialize = decltype(py::detail::type_info::init_instance);

std::unordered_map<const PyTypeObject*, Initialize>& initializers() {
  static auto& all = *new std::unordered_map<const PyTypeObject*, Initialize>;
  return all;
}

/// pybind11's own function, but an object whose registration failed for want of memory forgets what its caller frees:
/// pybind11 would free it once more with the object.
void initialize(py::detail::instance* instance, const void* holder) {
  const PyTypeObject* type = Py_TYPE(reinterpret_cast<PyObject*>(instance));
  auto found = initializers().find(type);
  while (found == initializers().end()) {  // a subclass of Python's
    type = type->tp_base;
    found = initializers().find(type);
  }
  try {
    found->second(instance, holder);
  } catch (...) {
    instance->get_value_and_holder().value_ptr() = nullptr;
    throw;
  }
}

}  // namespace

void require_init(const py::module_& module) {
  const auto names = py::reinterpret_borrow<py::dict>(module.attr("__dict__"));
  for (const auto& [name, value] : names) {
    if (PyType_Check(value.ptr()) == 0) continue;
    py::detail::type_info* const bound = py::detail::get_type_info(reinterpret_cast<PyTypeObject*>(value.ptr()));
    if (bound == nullptr || bound->init_instance == &initialize) continue;
    bound->operator_new = &refuse;
    initializers().emplace(bound->type, bound->init_instance);
    bound->init_instance = &initialize;
  }
}

}  // namespace pydoca::bindings
