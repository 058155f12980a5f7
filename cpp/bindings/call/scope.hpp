/// What every owner is in a with statement.
#pragma once

#include <pydoca/status.hpp>

#include "convert/convert.hpp"

#include <pybind11/pybind11.h>

namespace pydoca::bindings {

/// Closes, for __exit__. The error of a block that failed is not hidden behind what still holds the object: whatever
/// that is, the object goes with it.
template <class T>
void leave(T& self, const pybind11::object& failure, const pybind11::object& /*value*/,
           const pybind11::object& /*traceback*/) {
  try {
    self.close();
  } catch (const Error&) {
    if (failure.is_none()) throw;
  } catch (pybind11::error_already_set& error) {
    if (failure.is_none() || !is_docas(error)) throw;  // a callback's own error is told
  }
}

/// __enter__ calls T::enter(), which throws when there is nothing left to use.
template <class Class>
void bind_scope(Class& type) {
  using T = Class::type;
  type.def("__enter__", [](pybind11::object self) {
    self.cast<T&>().enter();
    return self;
  });
  type.def("__exit__", &leave<T>, pybind11::arg("type"), pybind11::arg("value"), pybind11::arg("traceback"));
}

}  // namespace pydoca::bindings
