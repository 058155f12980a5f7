#include "convert/bindings.hpp"

#include <string>

namespace pydoca::bindings {

namespace {

constexpr const char* maker = "_made_by";

/// What makes an object of the class that was derived first, or of one derived from that.
std::string first_call(py::object type) {
  for (py::list derived = type.attr("__subclasses__")(); !derived.empty();) {
    type = derived[0];
    derived = type.attr("__subclasses__")();
  }
  const py::object own = type.attr("__dict__");
  return own.contains(maker) ? own[maker].cast<std::string>() : type.attr("__name__").cast<std::string>() + "()";
}

}  // namespace

void made_by(py::module_& module, const char* name, const std::string& call) {
  const py::object type = module.attr(name);
  const std::string text = std::string(name) + " has no constructor: get one from " + call;
  const auto refuse = [text](const py::args& /*arguments*/, const py::kwargs& /*keywords*/) {
    throw py::type_error(text);
  };
  type.attr("__init__") = py::cpp_function(refuse, py::is_method(type), py::name("refuse"));
  type.attr(maker) = call;
}

void made_by_libraries(py::module_& module, const char* name) {
  made_by(module, name, "one of its libraries, such as " + first_call(module.attr(name)));
}

}  // namespace pydoca::bindings
