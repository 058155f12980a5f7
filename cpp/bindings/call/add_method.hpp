/// Adds methods to a class that another file binds: memory/bind_mmap.cpp adds Device.mmap().
#pragma once

#include "convert/pybind.hpp"

#include <utility>

namespace pydoca::bindings {

/// Does what class_::def does, for a class that is bound already.
template <class Function, class... Extra>
void add_method(py::handle type, const char* name, Function&& function, const Extra&... extra) {
  const py::object sibling = py::getattr(type, name, py::none());
  py::setattr(type, name,
              py::cpp_function(std::forward<Function>(function), py::name(name), py::is_method(type),
                               py::sibling(sibling), extra...));
}

}  // namespace pydoca::bindings
