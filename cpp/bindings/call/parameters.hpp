/// What a method takes, and the TypeErrors of a call that gives something else. Their texts are Python's own, with the
/// nearest name for a keyword that does not exist.
#pragma once

#include <pybind11/pybind11.h>

#include <cstddef>
#include <span>

namespace pydoca::bindings {

/// Names in order: the first num_required must be given, those from num_positional on by keyword only.
struct Parameters {
  const char* method;
  std::span<const char* const> names;
  std::size_t num_required;
  std::size_t num_positional;
};

/// Sorts the arguments of METH_FASTCALL | METH_KEYWORDS into values, one per name, null where nothing was given. Throws
/// TypeError as Python would.
void sort_arguments(const Parameters& parameters, PyObject* const* args, Py_ssize_t num_args, PyObject* keywords,
                    std::span<PyObject*> values);

}  // namespace pydoca::bindings
