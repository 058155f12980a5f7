#include "convert/bindings.hpp"

#include <string>

namespace pydoca::bindings {

namespace {

constexpr const char* maker = "_made_by";

py::object checked(PyObject* made) {
  if (made == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(made);
}

/// What makes an object of the class that was derived first, or of one derived from that. Plain calls of CPython, as
/// those of pybind11 are large.
std::string first_call(PyObject* type) {
  for (;;) {
    const py::object derived = checked(PyObject_CallMethod(type, "__subclasses__", nullptr));
    if (PyList_GET_SIZE(derived.ptr()) == 0) break;
    type = PyList_GET_ITEM(derived.ptr(), 0);  // the module has it
  }
  const auto* const heap_type = reinterpret_cast<PyHeapTypeObject*>(type);
  PyObject* const call = PyDict_GetItemString(heap_type->ht_type.tp_dict, maker);
  return call != nullptr ? PyUnicode_AsUTF8(call) : std::string(PyUnicode_AsUTF8(heap_type->ht_name)) + "()";
}

}  // namespace

void made_by(py::module_& module, const char* name, const std::string& call) {
  const py::object type = module.attr(name);
  const std::string text = std::string(name) + " has no constructor: get one from " + call;
  const auto refuse = [text](const py::args& /*arguments*/, const py::kwargs& /*keywords*/) {
    throw py::type_error(text);
  };
  type.attr("__init__") = py::cpp_function(refuse, py::is_method(type), py::name("refuse"));
  type.attr(maker) = py::str(call);
}

void made_by_libraries(py::module_& module, const char* name) {
  const py::object type = module.attr(name);
  made_by(module, name, "one of its libraries, such as " + first_call(type.ptr()));
}

}  // namespace pydoca::bindings
