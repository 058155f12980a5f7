#include "convert/raw_method.hpp"

#include <algorithm>
#include <string>

namespace pydoca::bindings {

namespace py = pybind11;

namespace {

[[noreturn]] void refuse(const Parameters& parameters, const std::string& why) {
  throw py::type_error(std::string(parameters.method) + "() " + why);
}

std::size_t index_of(const Parameters& parameters, PyObject* keyword) {
  const auto is_it = [&](const char* name) { return PyUnicode_CompareWithASCIIString(keyword, name) == 0; };
  const auto found = std::ranges::find_if(parameters.names, is_it);
  if (found == parameters.names.end()) {
    refuse(parameters, "got an unexpected keyword argument '" + py::handle(keyword).cast<std::string>() + "'");
  }
  return static_cast<std::size_t>(found - parameters.names.begin());
}

}  // namespace

void sort_arguments(const Parameters& parameters, PyObject* const* args, Py_ssize_t num_args, PyObject* keywords,
                    std::span<PyObject*> values) {
  const auto num_positional = static_cast<std::size_t>(num_args);
  if (num_positional > parameters.num_positional) {
    refuse(parameters, "takes at most " + std::to_string(parameters.num_positional) + " positional argument(s), not " +
                           std::to_string(num_positional));
  }
  std::copy_n(args, num_positional, values.begin());
  const Py_ssize_t num_keywords = keywords != nullptr ? PyTuple_GET_SIZE(keywords) : 0;
  for (Py_ssize_t i = 0; i < num_keywords; ++i) {
    PyObject*& value = values[index_of(parameters, PyTuple_GET_ITEM(keywords, i))];
    if (value != nullptr) {
      refuse(parameters, "got an argument twice");
    }
    value = args[num_args + i];
  }
  for (std::size_t i = 0; i < parameters.num_required; ++i) {
    if (values[i] == nullptr) refuse(parameters, std::string("needs the argument '") + parameters.names[i] + "'");
  }
}

void add_methods(py::handle type, std::span<PyMethodDef> methods) {
  for (PyMethodDef& method : methods) {
    PyObject* const descriptor = PyDescr_NewMethod(reinterpret_cast<PyTypeObject*>(type.ptr()), &method);
    if (descriptor == nullptr) throw py::error_already_set();
    py::setattr(type, method.ml_name, py::reinterpret_steal<py::object>(descriptor));
  }
}

}  // namespace pydoca::bindings
