#include "convert/bindings.hpp"

#include <string>

namespace pydoca::bindings {

void made_by(py::module_& module, const char* name, const std::string& call) {
  const py::object type = module.attr(name);
  const std::string text = std::string(name) + " has no constructor: get one from " + call;
  const auto refuse = [text](const py::args& /*arguments*/, const py::kwargs& /*keywords*/) {
    throw py::type_error(text);
  };
  type.attr("__init__") = py::cpp_function(refuse, py::is_method(type), py::name("refuse"));
}

}  // namespace pydoca::bindings
