#include "call/raw_method.hpp"

namespace pydoca::bindings {

void add_methods(py::handle type, std::span<PyMethodDef> methods) {
  for (PyMethodDef& method : methods) {
    PyObject* const descriptor = PyDescr_NewMethod(reinterpret_cast<PyTypeObject*>(type.ptr()), &method);
    if (descriptor == nullptr) throw py::error_already_set();
    py::setattr(type, method.ml_name, py::reinterpret_steal<py::object>(descriptor));
  }
}

void add_properties(py::handle type, std::span<PyGetSetDef> properties) {
  for (PyGetSetDef& property : properties) {
    PyObject* const descriptor = PyDescr_NewGetSet(reinterpret_cast<PyTypeObject*>(type.ptr()), &property);
    if (descriptor == nullptr) throw py::error_already_set();
    py::setattr(type, property.name, py::reinterpret_steal<py::object>(descriptor));
  }
}

}  // namespace pydoca::bindings
