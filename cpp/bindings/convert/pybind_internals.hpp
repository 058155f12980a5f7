/// All that the bindings use of py::detail, which pybind11 may change in any release. Each function says what it gives
/// and what would break; script/test-machines builds with the oldest and the newest pybind11.
#pragma once

#include "convert/pybind.hpp"

#include <unordered_map>

namespace pydoca::bindings {

/// Whether self has its C++ object. It has none after __new__ alone, nor while pybind11 constructs it; the collector
/// may visit it already then. pybind11 documents is_holder_constructed() for tp_traverse, but an instance without a
/// layout would crash in it. Without this, the cycle collector would read raw memory.
inline bool is_whole(PyObject* self) {
  const auto* const instance = reinterpret_cast<const py::detail::instance*>(self);
  const bool laid_out = instance->simple_layout || instance->nonsimple.values_and_holders != nullptr;
  return laid_out && py::detail::is_holder_constructed(self);
}

/// The first C++ object in an instance of a bound class; null when __init__ was never called. It reads the layout that
/// py::cast() reads, without a search for the type: frequent calls would take several times as long with py::cast().
[[gnu::always_inline]] inline void* first_value(PyObject* self) noexcept {
  const auto* instance = reinterpret_cast<const py::detail::instance*>(self);
  if (instance->simple_layout) {
    return instance->simple_holder_constructed ? instance->simple_value_holder[0] : nullptr;
  }
  const bool made = (*instance->nonsimple.status & py::detail::instance::status_holder_constructed) != 0;
  return made ? *instance->nonsimple.values_and_holders : nullptr;
}

/// The number of shares in the first C++ object of an instance of a bound class, with the instance's own. It reads the
/// holder that pybind11 made; weak_from_this() would take two atomic operations. Without this, an object that C++ still
/// shares would serve another buf.
inline long num_shares(PyObject* self) {
  auto* const instance = reinterpret_cast<py::detail::instance*>(self);
  return instance->get_value_and_holder().holder<py::smart_holder>().vptr.use_count();
}

/// Whether Python has weak references to an instance of a bound class. pybind11 has their list in the instance; Python
/// can ask for it by a call only. Without this, a weak reference to a task would lead to the next user of its object.
inline bool has_weak_references(PyObject* self) noexcept {
  return reinterpret_cast<const py::detail::instance*>(self)->weakrefs != nullptr;
}

/// Ends an instance of a bound class: the tp_dealloc that pybind11 gives its classes, for classes that replace it and
/// do more. Without this, their C++ objects would never end.
inline void end_instance(PyObject* self) { py::detail::pybind11_object_dealloc(self); }

using Initialize = decltype(py::detail::type_info::init_instance);

/// pybind11's own functions, which guard_creation() has replaced.
inline std::unordered_map<const PyTypeObject*, Initialize>& initializers() {
  static auto& replaced = *new std::unordered_map<const PyTypeObject*, Initialize>;
  return replaced;
}

/// pybind11's own function, but an object whose registration failed for want of memory forgets what its caller frees:
/// pybind11 would free it once more with the object.
inline void initialize(py::detail::instance* instance, const void* holder) {
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

/// Replaces two functions of a bound class, and does nothing to other classes: the one that allocates its C++ object,
/// and the one that registers it. pybind11 has no setting for either. Without this, the use of an object that __new__()
/// made alone would read raw memory, and an object whose creation runs out of memory would be freed twice.
inline void guard_creation(PyTypeObject* type, void* (*allocate)(std::size_t size)) {
  py::detail::type_info* const bound = py::detail::get_type_info(type);
  if (bound == nullptr || bound->init_instance == &initialize) return;
  bound->operator_new = allocate;
  initializers().emplace(bound->type, bound->init_instance);
  bound->init_instance = &initialize;
}

}  // namespace pydoca::bindings
