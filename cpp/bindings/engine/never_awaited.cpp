#include "engine/never_awaited.hpp"

#include "convert/pybind_internals.hpp"
#include "engine/awaitable.hpp"

#include <algorithm>
#include <array>

namespace pydoca::bindings {

namespace {

void dealloc_event(PyObject* self) {
  if (PyType_IS_GC(Py_TYPE(self)) != 0) PyObject_GC_UnTrack(self);
  auto* const event = static_cast<Awaitable*>(first_value(self));
  if (event != nullptr && !event->is_used()) [[unlikely]] {
    const std::string_view call = event->call_without_effect();
    if (!call.empty()) warn_never_awaited(call);
  }
  // An instance of a Python subclass may hold more state than its C++ object knows.
  const bool is_plain = event != nullptr && Py_TYPE(self)->tp_dealloc == &dealloc_event && !has_weak_references(self);
  if (!is_plain || !event->stays()) end_instance(self);
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
