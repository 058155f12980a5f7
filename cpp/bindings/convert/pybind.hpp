/// pybind11 under the name that all bindings use.
#pragma once

#include <pybind11/pybind11.h>

namespace pydoca::bindings {

namespace py = pybind11;
using namespace py::literals;

}  // namespace pydoca::bindings
