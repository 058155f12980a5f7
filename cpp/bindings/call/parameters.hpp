/// The parameters of a method, and the TypeErrors for arguments that do not fit. The messages are Python's own; for an
/// unknown keyword they add the nearest known name.
#pragma once

#include "convert/pybind.hpp"

#include <cstddef>
#include <span>

namespace pydoca::bindings {

/// The parameters in order. The caller must give the first num_required; those from num_positional on are keyword-only.
struct Parameters {
  const char* method;
  std::span<const char* const> names;
  std::size_t num_required;
  std::size_t num_positional;
};

/// Sorts the arguments of METH_FASTCALL | METH_KEYWORDS into values, one per name; null for an argument that the caller
/// did not give. Throws TypeError as Python would.
void sort_arguments(const Parameters& parameters, PyObject* const* args, Py_ssize_t num_args, PyObject* keywords,
                    std::span<PyObject*> values);

}  // namespace pydoca::bindings
