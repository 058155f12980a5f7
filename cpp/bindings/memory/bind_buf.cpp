#include <pydoca/buf.hpp>

#include "call/raw_method.hpp"
#include "call/scope.hpp"
#include "convert/bindings.hpp"
#include "convert/collectable.hpp"
#include "convert/convert.hpp"
#include "convert/items.hpp"
#include "convert/parse.hpp"
#include "memory/buf_object.hpp"

#include <array>
#include <memory>
#include <span>
#include <string>

namespace pydoca::bindings {

namespace {

void set_buf_slots(PyHeapTypeObject* type) {
  collectable<BufObject>().value(type);
  type->ht_type.tp_dealloc = &BufObject::dealloc;
  set_view_slots<BufObject>(type);
}

// A task's caller uses these for every buf, therefore they are raw methods.

void set_data(PyObject* self, const std::array<PyObject*, 2>& given) {
  const auto [data, data_len] = given;
  Buf& buf = object_of<BufObject>(self).get();
  const Status status = buf.set_data(to_u64(data, "data"), to_u64(data_len, "data_len"));
  if (status != Status::success) {
    check_buf(status, buf, format_text("set_data({:#x}, {})", py::handle(data), py::handle(data_len)));
  }
}

int set_data_len(PyObject* self, PyObject* value, void* /*unused*/) {
  return guarded_setting([&] {
    if (value == nullptr) throw py::attribute_error("data_len cannot be deleted");
    Buf& buf = object_of<BufObject>(self).get();
    const Status status = buf.set_data_len(to_u64(value, "data_len"));
    if (status != Status::success) {
      check_buf(status, buf, format_text("data_len = {}", py::handle(value)));
    }
  });
}

void reset_data_len(PyObject* self) {
  Buf& buf = object_of<BufObject>(self).get();
  check_buf(buf.reset_data_len(), buf, "reset_data_len");
}

template <auto count>
PyObject* change_refcount(PyObject* self) {
  return PyLong_FromLong((object_of<BufObject>(self).*count)());
}

void close(PyObject* self) { object_of<BufObject>(self).close(); }

template <auto member>
constexpr auto read_buf = &read_number<BufObject, &BufObject::get, member>;
template <auto member>
constexpr auto ask_buf = &read_flag<BufObject, &BufObject::get, member>;

std::span<PyMethodDef> buf_methods() {
  static std::array methods{
      raw_method<"set_data($self, /, data, data_len)", &set_data>(
          "Moves the data section. Raises InvalidValueError unless it lies within the buf, InUseError while a\n"
          "task has it."),
      raw_method<"reset_data_len($self, /)", &reset_data_len>(
          "Empties the data section and keeps its address. Call it before a destination is used again."),
      raw_method<"inc_refcount($self, /)", &change_refcount<&BufObject::inc_refcount>>(
          "Adds a reference, and returns the count before. Raises NotPermittedError on an inner element,\n"
          "TooBigError at 65535."),
      raw_method<"dec_refcount($self, /)", &change_refcount<&BufObject::dec_refcount>>(
          "Removes a reference, and returns the count before. At 0 every element of the list is released.\n"
          "Raises NotPermittedError on an inner element and, for the last reference, while a task has the buf;\n"
          "BadStateError once released."),
      raw_method<"close($self, /)", &close>(
          "Releases the buf with its list, whatever the count; idempotent. Raises the errors of dec_refcount()."),
  };
  return methods;
}

std::span<PyGetSetDef> buf_properties() {
  static std::array properties{
      raw_property("head", read_buf<&Buf::head>, nullptr,
                   "The address of the first byte, in the memory owner's address space."),
      raw_property("len", read_buf<&Buf::len>, nullptr, "The number of bytes of headroom, data and tailroom together."),
      raw_property("data", read_buf<&Buf::data>, nullptr, "The address of the data section."),
      raw_property("data_len", read_buf<&Buf::data_len>, &set_data_len,
                   "The number of bytes in the data section. Setting it raises InvalidValueError beyond the tailroom, "
                   "InUseError while a task has the buf."),
      raw_property("headroom", read_buf<&Buf::headroom>, nullptr, "The number of bytes before the data section."),
      raw_property("tailroom", read_buf<&Buf::tailroom>, nullptr,
                   "The number of bytes behind the data section; a task appends its output there."),
      raw_property("refcount", read_buf<&Buf::refcount>, nullptr,
                   "The number of references, 1 for a buf from the inventory. Releasing the last one releases the buf. "
                   "BadStateError once released."),
      raw_property("is_first", ask_buf<&Buf::is_first>, nullptr,
                   "Whether the buf is the head of a list, or in no list."),
      raw_property("is_last", ask_buf<&Buf::is_last>, nullptr, "Whether no element follows the buf."),
      raw_property("is_in_list", ask_buf<&Buf::is_in_list>, nullptr, "Whether the buf is chained to others."),
  };
  return properties;
}

std::uint32_t list_len(const BufObject& self) {
  std::uint32_t count = 0;
  check_buf(self.get().list_len(count), self.get(), "list_len");
  return count;
}

py::iterator iterate(const BufObject& self) {
  py::list elements;
  for (auto element = std::const_pointer_cast<BufObject>(self.shared_from_this()); element != nullptr;
       element = element->next()) {
    elements.append(element);
  }
  return py::iter(elements);
}

std::string list_of(const Buf& buf) {
  if (!buf.is_in_list()) return {};
  if (!buf.is_first()) return ", chained to a buf before it";
  return format_text(", head of a list of {} bufs with {} bytes of data", buf.num_elements(), buf.list_data_len());
}

py::str buf_repr(const BufObject& self) {
  if (self.is_released()) return "<pydoca.Buf, released>";
  const Buf& buf = self.get();
  return py::str("<pydoca.Buf of {} bytes at {:#x}: headroom {}, data {}, tailroom {}, refcount {}{}>")
      .format(buf.len(), buf.head(), buf.headroom(), buf.data_len(), buf.tailroom(), buf.refcount(), list_of(buf));
}

void bind_list(py::classh<BufObject>& type) {
  type.def("chain", &BufObject::chain, "other"_a,
           "Appends other's list; its head becomes an inner element. Raises NotPermittedError unless both are\n"
           "heads of different lists and other's count is 1; InUseError while a task has one of them.")
      .def("chain_tail", &BufObject::chain_tail, "tail"_a, "other"_a,
           "Appends other's list as chain() does, for a caller that knows the last element, tail. Raises\n"
           "NotPermittedError, too, when tail is not the last element (doca_buf_chain_list_tail).")
      .def("unchain", &BufObject::unchain, "element"_a,
           "Cuts the list before element, which becomes a head with count 1. Raises InvalidValueError unless\n"
           "element is a later element of this list, NotPermittedError unless this buf is a head.")
      .def_property_readonly("next", &BufObject::next, "The next element; None after the last.")
      .def_property_readonly("last", &BufObject::last,
                             "The last element of the list; the buf itself when it is in no list.")
      .def_property_readonly("list_len", &list_len,
                             "The number of elements in the list. Raises NotPermittedError on an inner element.")
      .def("__iter__", &iterate, "The elements of the list, from this one on.");
}

}  // namespace

void bind_buf(py::module_& module) {
  py::classh<BufObject> type(
      module, "Buf",
      "A piece of a memory map: headroom, data, tailroom. It has the buffer protocol, which gives its data\n"
      "section, unless the memory is imported. It returns to its inventory when no Python object and no\n"
      "task has it any more.",
      py::custom_type_setup(set_buf_slots));
  add_properties(type, buf_properties());
  add_methods(type, buf_methods());
  type.def_property_readonly("mmap", &BufObject::mmap, "The Mmap of its memory. Raises BadStateError once released.")
      .def_property_readonly("is_released", &BufObject::is_released,
                             "Whether it has returned to its inventory; every other member then raises BadStateError.")
      .def("__len__", [](const BufObject& self) { return self.get().data_len(); })
      .def("__bool__", [](const BufObject&) { return true; })
      .def("_snapshot", &BufObject::snapshot, "limit"_a)
      .def("__repr__", &buf_repr);
  bind_list(type);
  bind_scope(type);
  bind_items(type);
  bind_array_protocols(type);
  made_by(module, "Buf", "BufInventory.get_by_data() and its siblings, BufPool.alloc()");
}

}  // namespace pydoca::bindings
