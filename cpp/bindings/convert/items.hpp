/// Indices and slices of bytes, for classes with the buffer protocol.
#pragma once

#include "convert/pybind.hpp"

namespace pydoca::bindings {

/// bytes[key]: an int for an index, a copy as bytes for a slice. Throws what a memoryview throws, IndexError say, and
/// BufferError for memory that the CPU does not reach.
[[nodiscard]] py::object item_of(const py::object& bytes, const py::object& key);

/// bytes[key] = value: an int for an index, any buffer of the same length for a slice. Throws ValueError for another
/// length, TypeError for read-only memory.
void set_item_of(const py::object& bytes, const py::object& key, const py::object& value);

/// Binds both to a class with the buffer protocol. Its memory has a fixed length: nothing can be deleted.
template <class Class>
void bind_items(Class& type) {
  type.def("__getitem__", &item_of, py::arg("key")).def("__setitem__", &set_item_of, py::arg("key"), py::arg("value"));
}

}  // namespace pydoca::bindings
