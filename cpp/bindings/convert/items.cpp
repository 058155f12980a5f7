#include "convert/items.hpp"

#include "convert/convert.hpp"

namespace pydoca::bindings {

namespace {

py::object view_of(const py::object& bytes) {
  auto view = py::reinterpret_steal<py::object>(PyMemoryView_FromObject(bytes.ptr()));
  if (!view) throw py::error_already_set();
  return view;
}

/// The bytes of an array whose elements are of any type.
py::object bytes_view_of(const py::object& value) { return view_of(value).attr("cast")("B"); }

}  // namespace

py::object item_of(const py::object& bytes, const py::object& key) {
  const py::object item = view_of(bytes)[key];
  return PyMemoryView_Check(item.ptr()) != 0 ? item.attr("tobytes")() : item;
}

void set_item_of(const py::object& bytes, const py::object& key, const py::object& value) {
  const py::object view = view_of(bytes);
  if (PySlice_Check(key.ptr()) == 0) {
    view[key] = value;
    return;
  }
  const py::object given = bytes_view_of(value);
  const std::size_t room = py::len(view[key]);
  if (py::len(given) != room) {
    throw py::value_error(
        format_text("{} bytes cannot replace {}: the memory's length is fixed", py::len(given), room));
  }
  view[key] = given;
}

}  // namespace pydoca::bindings
