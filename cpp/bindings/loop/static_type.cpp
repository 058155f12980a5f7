#include "loop/static_type.hpp"

namespace pydoca::bindings {

PyTypeObject static_type(const char* name, Py_ssize_t size, destructor dealloc, unsigned long more_flags) {
  PyTypeObject type{};
  type.ob_base = {PyObject_HEAD_INIT(nullptr) 0};
  type.tp_name = name;
  type.tp_basicsize = size;
  type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | more_flags;
  type.tp_dealloc = dealloc;
  return type;
}

void ready(PyTypeObject& type) {
  if (type.tp_dict == nullptr && PyType_Ready(&type) != 0) throw py::error_already_set();
}

}  // namespace pydoca::bindings
