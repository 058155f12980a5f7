#pragma once

#include "convert/pybind.hpp"

namespace pydoca::bindings {

/// Visits a reference for Python's cycle collector; for the traverse() that collectable() needs.
inline int visit_ref(const py::object& object, visitproc visit, void* arg) {
  return object ? visit(object.ptr(), arg) : 0;
}

template <typename Range>
int visit_refs(const Range& objects, visitproc visit, void* arg) {
  for (const py::object& object : objects) {
    if (const int stop = visit_ref(object, visit, arg)) {
      return stop;
    }
  }
  return 0;
}

/// Whether self has its C++ object. It has none after __new__ alone, nor while pybind11 constructs it; the collector
/// may visit it already then.
inline bool is_whole(PyObject* self) {
  const auto* const instance = reinterpret_cast<const py::detail::instance*>(self);
  const bool laid_out = instance->simple_layout || instance->nonsimple.values_and_holders != nullptr;
  return laid_out && py::detail::is_holder_constructed(self);
}

/// Shows the cycle collector the references of T's instances, and of instances of bound subclasses. T has
/// traverse(visit, arg) and clear(); they are virtual when subclasses have more references.
template <typename T>
py::custom_type_setup collectable() {
  return py::custom_type_setup([](PyHeapTypeObject* heap_type) {
    PyTypeObject& type = heap_type->ht_type;
    type.tp_flags |= Py_TPFLAGS_HAVE_GC;
    type.tp_traverse = [](PyObject* self, visitproc visit, void* arg) {
      Py_VISIT(Py_TYPE(self));
      return is_whole(self) ? py::cast<T&>(py::handle(self)).traverse(visit, arg) : 0;
    };
    type.tp_clear = [](PyObject* self) {
      if (is_whole(self)) py::cast<T&>(py::handle(self)).clear();
      return 0;
    };
  });
}

}  // namespace pydoca::bindings
