#include "convert/bindings.hpp"
#include "device/fields.hpp"

#include <string>
#include <type_traits>

namespace pydoca::bindings {

namespace py = pybind11;
using namespace py::literals;

namespace {

/// What Python has no class of its own for is seen in its plain form.
template <class T, class Field>
void bind_field(py::classh<T>& type, const char* name, Field T::* field, const char* doc) {
  if constexpr (std::is_same_v<Field, MtuSize>) {
    type.def_property_readonly(name, [field](const T& self) { return to_plain(self.*field); }, doc);
  } else {
    type.def_readonly(name, field, doc);
  }
}

/// A read-only property for each field; equality, hash and representation by the plain form.
template <class T>
void bind_fields(py::module_& module, const char* name, const char* doc) {
  py::classh<T> type(module, name, doc);
  each_field(std::type_identity<T>(), [&](const char* field_name, auto field, const char* field_doc) {
    bind_field(type, field_name, field, field_doc);
  });
  type.def("to_dict", [](const T& self) { return to_plain(self); }, "Its fields as plain Python, fit for JSON.");
  type.def("__eq__", [](const T& self, py::handle other) -> py::object {
    if (!py::isinstance<T>(other)) return py::reinterpret_borrow<py::object>(Py_NotImplemented);
    return py::bool_(to_plain(self).equal(to_plain(other.cast<const T&>())));
  });
  type.def("__hash__", [](const T& self) { return py::hash(py::repr(to_plain(self))); });
  const std::string format = std::string("<pydoca.") + name + " {}>";
  type.def("__repr__", [format](const T& self) { return py::str(format).format(to_plain(self)); });
}

}  // namespace

void bind_capabilities(py::module_& module) {
  bind_fields<DmaCapabilities>(
      module, "DmaCapabilities",
      "The limits of a DMA engine: bytes per task, elements of a list (1: no lists), tasks of a context.");
  bind_fields<ComchCapabilities>(
      module, "ComchCapabilities",
      "Which ends of a comch a function can be, and limits: lengths in bytes (of the name with its NUL), queues and "
      "clients in numbers.");
  bind_fields<SyncEventCapabilities>(
      module, "SyncEventCapabilities",
      "To where a function's sync events can be exported and from where imported, whether it has wait tasks, and how "
      "many tasks of each kind a context may have.");
  bind_fields<RdmaCapabilities>(
      module, "RdmaCapabilities",
      "The limits of a device's RDMA: queues and lists in numbers, messages and packets (max_mtu) in bytes.");
  bind_fields<Capabilities>(module, "Capabilities", "What a function can do; an engine that is not there is None.");
}

}  // namespace pydoca::bindings
