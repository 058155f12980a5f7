#include <pydoca/buf.hpp>

#include "convert/bindings.hpp"
#include "convert/parse.hpp"
#include "convert/scope.hpp"
#include "memory/buf_object.hpp"

#include <memory>

namespace pydoca::bindings {

namespace py = pybind11;
using namespace py::literals;

namespace {

void set_data(BufObject& self, const py::object& data, const py::object& data_len) {
  Buf& buf = self.get();
  check_buf(buf.set_data(to_u64(data, "data"), to_u64(data_len, "data_len")), buf,
            py::str("set_data({}, {})").format(data, data_len).cast<std::string>());
}

void set_data_len(BufObject& self, const py::object& data_len) {
  Buf& buf = self.get();
  check_buf(buf.set_data_len(to_u64(data_len, "data_len")), buf,
            py::str("data_len = {}").format(data_len).cast<std::string>());
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

py::str buf_repr(const BufObject& self) {
  if (self.is_released()) return "<pydoca.Buf, released>";
  const Buf& buf = self.get();
  return py::str("<pydoca.Buf of {} bytes at {:#x}: headroom {}, data {}, tailroom {}, refcount {}>")
      .format(buf.len(), buf.head(), buf.headroom(), buf.data_len(), buf.tailroom(), buf.refcount());
}

void bind_sections(py::classh<BufObject>& type) {
  const auto read = [&](const char* name, auto member, const char* doc) {
    type.def_property_readonly(name, [member](const BufObject& self) { return (self.get().*member)(); }, doc);
  };
  read("head", &Buf::head, "The address of the first byte, in the memory owner's address space.");
  read("len", &Buf::len, "Bytes of headroom, data and tailroom together.");
  read("data", &Buf::data, "The address of the data section.");
  read("headroom", &Buf::headroom, "Bytes before the data section.");
  read("tailroom", &Buf::tailroom, "Bytes behind the data section, to which a task appends its output.");
  type.def_property(
          "data_len", [](const BufObject& self) { return self.get().data_len(); }, &set_data_len,
          "Bytes of the data section. Setting it raises InvalidValueError beyond the tailroom, InUseError while a task "
          "has the buf.")
      .def(
          "set_data", &set_data, "data"_a, "data_len"_a,
          "Moves the data section. Raises InvalidValueError unless it lies within the buf, InUseError while a task has "
          "it.")
      .def(
          "reset_data_len",
          [](BufObject& self) { check_buf(self.get().reset_data_len(), self.get(), "reset_data_len"); },
          "Empties the data section where it stands: needed before a destination is used again.")
      .def_property_readonly("mmap", &BufObject::mmap, "The Mmap that it points into; BadStateError once released.");
}

void bind_references(py::classh<BufObject>& type) {
  type.def_property_readonly(
          "refcount", [](const BufObject& self) { return self.get().refcount(); },
          "References to it, 1 from the inventory; the last one releases it. BadStateError once released.")
      .def("inc_refcount", &BufObject::inc_refcount,
           "Returns the count before. Raises NotPermittedError on an inner element, TooBigError at 65535.")
      .def("dec_refcount", &BufObject::dec_refcount,
           "Returns the count before. At 0 every element of the list is released. Raises NotPermittedError on an inner "
           "element and, for the last reference, while a task has the buf; BadStateError once released.")
      .def("close", &BufObject::close,
           "Releases the buf, with its list, whatever the count; again does nothing. Raises as dec_refcount().")
      .def_property_readonly("is_released", &BufObject::is_released,
                             "Whether it went back to its inventory; then all else raises BadStateError.")
      .def("__repr__", &buf_repr);
}

void bind_list(py::classh<BufObject>& type) {
  const auto read = [&](const char* name, auto member, const char* doc) {
    type.def_property_readonly(name, [member](const BufObject& self) { return (self.get().*member)(); }, doc);
  };
  read("is_first", &Buf::is_first, "Whether it is a list's head, or in no list.");
  read("is_last", &Buf::is_last, "Whether no element follows.");
  read("is_in_list", &Buf::is_in_list, "Whether it is chained to others.");
  type.def("chain", &BufObject::chain, "other"_a,
           "Appends other's list, whose head becomes an inner element. Raises NotPermittedError unless both are heads, "
           "apart, and other's count is 1; InUseError while a task has one.")
      .def("unchain", &BufObject::unchain, "element"_a,
           "Cuts the list before element, which becomes a head with count 1. Raises InvalidValueError unless it is a "
           "later element of this list, NotPermittedError unless this is a head.")
      .def_property_readonly("next", &BufObject::next, "The element that follows, None after the last.")
      .def_property_readonly("last", &BufObject::last, "The last element of the list; itself when in none.")
      .def_property_readonly("list_len", &list_len, "Raises NotPermittedError on an inner element.")
      .def("__iter__", &iterate, "The elements of the list, from this one on.");
}

}  // namespace

void bind_buf(py::module_& module) {
  py::classh<BufObject> type(
      module, "Buf",
      "A piece of a memory map: headroom, data, tailroom. A buffer itself, of its data section, "
      "unless the memory is imported. Goes back to its inventory when nothing in Python and no task "
      "has it any more.",
      py::custom_type_setup(set_view_slots<BufObject>));
  bind_sections(type);
  bind_references(type);
  bind_list(type);
  bind_scope(type);
  bind_array_protocols(type);
}

}  // namespace pydoca::bindings
