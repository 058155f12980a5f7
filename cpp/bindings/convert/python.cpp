#include "convert/python.hpp"

#include "convert/bindings.hpp"

#include <functional>
#include <map>
#include <stdexcept>
#include <string>

namespace pydoca::bindings {

namespace {

/// Never destroyed: the interpreter's end frees its objects.
std::map<std::string, py::object, std::less<>>& attached() {
  static auto& objects = *new std::map<std::string, py::object, std::less<>>;
  return objects;
}

}  // namespace

const py::object& from_python(const char* name) {
  const auto found = attached().find(name);
  if (found == attached().end()) throw std::runtime_error(std::string("pydoca has no ") + name + "; import pydoca");
  return found->second;
}

py::object bridge_module() {
  static const py::object& load = from_python("load_aio");
  return load();
}

void drain_log() {
  static const py::object& drain = from_python("drain_log");
  drain();
}

namespace {

int drain_log_now(void* /*unused*/) noexcept {
  try {
    drain_log();
  } catch (py::error_already_set& error) {
    error.discard_as_unraisable("pydoca");
  }
  return 0;
}

}  // namespace

// A full list of pending calls refuses this one. The records then wait for the next call that drains.
void drain_log_soon() noexcept { static_cast<void>(Py_AddPendingCall(&drain_log_now, nullptr)); }

void bind_python(py::module_& module) {
  module.def("attach", [](const py::kwargs& objects) {
    for (const auto& [name, object] : objects) {
      attached()[name.cast<std::string>()] = py::reinterpret_borrow<py::object>(object);
    }
  });
}

}  // namespace pydoca::bindings
