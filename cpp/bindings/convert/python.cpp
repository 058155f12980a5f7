#include "convert/python.hpp"

#include <pydoca/log.hpp>

#include "convert/bindings.hpp"

#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

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

namespace {

/// The ring that drain_log empties. It is there from the import of pydoca on.
std::shared_ptr<log::Ring>& log_intake() {
  static auto& ring = *new std::shared_ptr<log::Ring>;
  return ring;
}

}  // namespace

void drain_log() {
  const log::Ring* const ring = log_intake().get();
  if (ring != nullptr && ring->size() == 0) [[likely]] {
    return;
  }
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
  module.def("log_set_intake", [](std::shared_ptr<log::Ring> ring) { log_intake() = std::move(ring); }, "ring"_a);
  module.def("attach", [](const py::kwargs& objects) {
    for (const auto& [name, object] : objects) {
      attached()[name.cast<std::string>()] = py::reinterpret_borrow<py::object>(object);
    }
  });
}

}  // namespace pydoca::bindings
