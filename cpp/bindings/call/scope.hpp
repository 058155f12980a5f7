/// __enter__ and __exit__ of every class with a close().
#pragma once

#include <pydoca/status.hpp>

#include "convert/convert.hpp"
#include "convert/pybind.hpp"

namespace pydoca::bindings {

/// Closes self, for __exit__, and before that what refers to self and is idle, if T has such objects: names that the
/// block leaves behind do not keep it from closing. When the block has failed, its error is raised, and an error of
/// close() is dropped: self is then released together with the objects that still use it.
template <class T>
void leave(T& self, const py::object& failure, const py::object& /*value*/, const py::object& /*traceback*/) {
  try {
    if constexpr (requires { self.release_idle(); }) self.release_idle();
    self.close();
  } catch (const Error&) {
    if (failure.is_none()) throw;
  } catch (py::error_already_set& error) {
    if (failure.is_none() || !is_docas(error)) throw;  // the error of a user's callback is always raised
  }
}

/// Binds __enter__ and __exit__. __enter__ calls T::enter(), which throws when self is closed.
template <class Class>
void bind_scope(Class& type) {
  using T = Class::type;
  type.def("__enter__", [](py::object self) {
    self.cast<T&>().enter();
    return self;
  });
  type.def("__exit__", &leave<T>, py::arg("type"), py::arg("value"), py::arg("traceback"));
}

}  // namespace pydoca::bindings
