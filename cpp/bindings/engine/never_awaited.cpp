#include "engine/never_awaited.hpp"

#include "convert/collectable.hpp"
#include "convert/pybind_internals.hpp"
#include "engine/awaitable.hpp"

#include <algorithm>
#include <array>

namespace pydoca::bindings {

namespace {

void end_event(PyObject* self) {
  const auto* const event = static_cast<const Awaitable*>(first_value(self));
  if (event != nullptr && !event->is_used()) [[unlikely]] {
    const std::string_view call = event->call_without_effect();
    if (!call.empty()) warn_never_awaited(call);
  }
  end_instance(self);
}

void dealloc_event(PyObject* self) {
  const bool is_collected = PyType_IS_GC(Py_TYPE(self)) != 0;
  if (is_collected) PyObject_GC_UnTrack(self);
  auto* const event = static_cast<Awaitable*>(first_value(self));
  // An instance of a Python subclass may hold more state than its C++ object knows.
  const bool is_plain = event != nullptr && Py_TYPE(self)->tp_dealloc == &dealloc_event && !has_weak_references(self);
  if (is_plain && event->is_used() && event->stays()) return;
  // An instance of a graph refers to those of its sub-graphs.
  is_collected ? end_nested<&dealloc_event, &end_event>(self) : end_event(self);
}

}  // namespace

void set_warning_dealloc(PyTypeObject& type) noexcept { type.tp_dealloc = &dealloc_event; }

void warn_never_awaited(std::string_view call, int level) noexcept {
  if (is_finalizing()) return;
  const py::error_scope pending;
  std::array<char, 32> name{};  // ended by a NUL, and without an allocation
  std::ranges::copy(call.substr(0, name.size() - 1), name.begin());
  constexpr const char* text = "%s() was never awaited, and has done nothing: await it";
  if (PyErr_WarnFormat(PyExc_RuntimeWarning, level, text, name.data()) != 0) {
    const auto what = py::reinterpret_steal<py::object>(PyUnicode_FromFormat("%s()", name.data()));
    PyErr_WriteUnraisable(what.ptr());
  }
}

}  // namespace pydoca::bindings
