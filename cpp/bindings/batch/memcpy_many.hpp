#pragma once

#include "convert/pybind.hpp"

namespace pydoca::bindings {

/// The method memcpy_many() of Dma.
PyMethodDef memcpy_many_method();

}  // namespace pydoca::bindings
