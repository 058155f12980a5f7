/// Methods that one file adds to a class of another: Device.mmap() stands with memory maps.
#pragma once

#include <pybind11/pybind11.h>

#include <utility>

namespace pydoca::bindings {

/// As class_::def, for a class that was bound before.
template <class Function, class... Extra>
void add_method(pybind11::handle type, const char* name, Function&& function, const Extra&... extra) {
  namespace py = pybind11;
  const py::object sibling = py::getattr(type, name, py::none());
  py::setattr(type, name,
              py::cpp_function(std::forward<Function>(function), py::name(name), py::is_method(type),
                               py::sibling(sibling), extra...));
}

}  // namespace pydoca::bindings
