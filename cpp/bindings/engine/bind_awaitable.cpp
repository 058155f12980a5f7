#include "call/raw_method.hpp"
#include "convert/bindings.hpp"
#include "convert/convert.hpp"
#include "convert/parse.hpp"
#include "engine/awaitable.hpp"
#include "engine/engine_object.hpp"
#include "engine/event_awaiter.hpp"
#include "engine/never_awaited.hpp"
#include "loop/drive.hpp"

#include <pybind11/stl.h>

#include <array>
#include <span>

namespace pydoca::bindings {

namespace {

py::object drive_of_event(PyObject* event) { return drive_of(event, true, nullptr); }

PyObject* wait(PyObject* self, const std::array<PyObject*, 1>& timeout) {
  return object_of<Awaitable>(self).wait(to_seconds(timeout[0])).release().ptr();
}

std::span<PyMethodDef> waits() {
  static std::array methods{
      raw_method<"wait($self, /, timeout=None)", &wait>(
          "Progresses until it is there, and returns it. timeout in seconds, None for no limit; raises\n"
          "TimeOutError."),
  };
  return methods;
}

PySendResult send_to_event(PyObject* self, PyObject* value, PyObject** result) {
  return send_to_drive(drive_of_event, self, value, result);
}

}  // namespace

void bind_event_drives(const py::module_& module) { set_drive_slot(module, py::type::of<Awaitable>(), &send_to_event); }

void bind_awaitable(py::module_& module) {
  py::classh<Awaitable> type(
      module, "Awaitable",
      "An object or event that an engine will deliver. Await it in an event loop, or call wait() without one.",
      py::custom_type_setup(set_event_await_slot));
  add_methods(type, waits());
  type.def_property_readonly("_engine", [](Awaitable& self) { return py::cast(&self.engine()); })
      .def("_ready", &Awaitable::ready)
      .def("_take", &Awaitable::take)
      .def("_give_up", &Awaitable::give_up)
      .def("_curtail", &Awaitable::curtail)
      .def("_abandon", &Awaitable::abandon)
      .def_property_readonly("_lends_memory", &Awaitable::lends_memory)
      .def("_quarantine", &Awaitable::quarantine)
      .def("_use", &Awaitable::use)
      .def("_drive", [](const py::object& self) { return drive_of_event(self.ptr()); });
  bind_waiters(type);
  made_by(module, "Awaitable", "a call that is awaited, such as RdmaConnection.established()");
}

void bind_never_awaited(py::module_& module) {
  module.def("warn_never_awaited", &warn_never_awaited, "call"_a, "level"_a);
  const py::type base = py::type::of<Awaitable>();
  for (const auto& [name, value] : py::dict(module.attr("__dict__"))) {
    if (PyType_Check(value.ptr()) == 0) continue;
    auto* const type = reinterpret_cast<PyTypeObject*>(value.ptr());
    if (PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(base.ptr())) != 0) set_warning_dealloc(*type);
  }
}

}  // namespace pydoca::bindings
