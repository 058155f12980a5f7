#include "batch/shared_array.hpp"

#include <algorithm>

namespace pydoca::bindings {

SharedArray::SharedArray(std::size_t size, const void* from)
    : bytes_(py::reinterpret_steal<py::object>(
          PyByteArray_FromStringAndSize(static_cast<const char*>(from), static_cast<Py_ssize_t>(size)))) {
  if (!bytes_) throw py::error_already_set();
  held_ = HeldBuffer::of(bytes_);
}

py::object SharedArray::view(const char* format, const std::vector<std::size_t>& shape) const {
  const bool is_empty = std::ranges::find(shape, 0U) != shape.end();
  // Python refuses to cast a view without bytes: an empty array is a slice of one that has an item.
  const py::object bytes = is_empty ? py::object(py::bytearray(std::string(64, '\0'))) : bytes_;
  const auto whole = py::reinterpret_steal<py::object>(PyMemoryView_FromObject(bytes.ptr()));
  if (!whole) throw py::error_already_set();
  const py::object readonly = whole.attr("toreadonly")();
  if (is_empty) return readonly.attr("cast")(format)[py::slice(0, 0, 1)];
  return readonly.attr("cast")(format, py::cast(shape));
}

}  // namespace pydoca::bindings
