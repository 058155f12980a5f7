#include "call/raw_method.hpp"

#include "raw_types.hpp"

#include <forward_list>
#include <string>
#include <string_view>

namespace pydoca::bindings {

namespace {

/// As the stub has them, such as (mmap: Mmap, addr: SupportsIndex) -> Buf; empty for a method without one.
std::string_view types_of(std::string_view type, std::string_view method) {
  const std::string head = std::string("\n").append(type).append(".").append(method).append("(");
  const std::size_t place = raw_types.find(head);
  if (place == std::string_view::npos) return {};
  const std::string_view types = raw_types.substr(place + head.size() - 1);
  return types.substr(0, types.find('\n'));
}

/// Appends a line with the types to the doc: inspect takes no types from the text of a signature. A module that is
/// initialised again has it already.
void add_types(const std::string& type, PyMethodDef& method) {
  static auto& docs = *new std::forward_list<std::string>;  // CPython keeps the pointers
  constexpr std::string_view head = "\n\nTypes: ";
  const std::string_view types = types_of(type, method.ml_name);
  if (types.empty() || std::string_view(method.ml_doc).find(head) != std::string_view::npos) return;
  method.ml_doc = docs.emplace_front(std::string(method.ml_doc).append(head).append(types)).c_str();
}

}  // namespace

void add_methods(py::handle type, std::span<PyMethodDef> methods) {
  const auto name = type.attr("__name__").cast<std::string>();
  for (PyMethodDef& method : methods) {
    add_types(name, method);
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
