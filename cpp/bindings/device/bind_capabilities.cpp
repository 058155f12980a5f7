#include "convert/bindings.hpp"
#include "device/fields.hpp"

#include <string>
#include <type_traits>

namespace pydoca::bindings {

namespace {

/// Converts values without a Python class of their own to plain Python.
template <class T, class Field>
void bind_field(py::classh<T>& type, const char* name, Field T::* field, const char* doc) {
  if constexpr (std::is_same_v<Field, MtuSize>) {
    type.def_property_readonly(name, [field](const T& self) { return to_plain(self.*field); }, doc);
  } else {
    type.def_readonly(name, field, doc);
  }
}

/// Binds a read-only property for each field. Equality, hash and repr() use the plain form.
template <class T>
void bind_fields(py::module_& module, const char* name, const char* doc) {
  py::classh<T> type(module, name, doc);
  each_field(std::type_identity<T>(), [&](const char* field_name, auto field, const char* field_doc) {
    bind_field(type, field_name, field, field_doc);
  });
  type.def("to_dict", [](const T& self) { return to_plain(self); }, "The fields as plain Python, fit for JSON.");
  type.def("__eq__", [](const T& self, py::handle other) -> py::object {
    if (!py::isinstance<T>(other)) return py::reinterpret_borrow<py::object>(Py_NotImplemented);
    return py::bool_(to_plain(self).equal(to_plain(other.cast<const T&>())));
  });
  type.def("__hash__", [](const T& self) { return py::hash(py::repr(to_plain(self))); });
  const std::string format = std::string("<pydoca.") + name + " {}>";
  type.def("__repr__", [format](const T& self) { return py::str(format).format(to_plain(self)); });
  made_by(module, name, "DeviceInfo.capabilities");
}

}  // namespace

void bind_capabilities(py::module_& module) {
  bind_fields<DmaCapabilities>(
      module, "DmaCapabilities",
      "The limits of a DMA engine: bytes per task, elements of a list (1: no lists), tasks of a context.");
  bind_fields<ShaCapabilities>(module, "ShaCapabilities",
                               "The algorithms and limits of a SHA engine: bytes per task, elements of a source, tasks "
                               "of a context.");
  bind_fields<ComchCapabilities>(
      module, "ComchCapabilities",
      "Whether a function can be a comch server or a client, and the limits: lengths in bytes (the name's\n"
      "with its NUL), queues and clients in numbers.");
  bind_fields<SyncEventCapabilities>(
      module, "SyncEventCapabilities",
      "The places to which a function's sync events can be exported and from which they can be imported,\n"
      "whether it has wait tasks, and how many tasks of each kind a context may have.");
  bind_fields<RdmaCapabilities>(
      module, "RdmaCapabilities",
      "The limits of a device's RDMA: queues and lists in numbers, messages and packets (max_mtu) in bytes.");
  bind_fields<MmapAdviseCapabilities>(module, "MmapAdviseCapabilities",
                                      "The limits of the invalidation of a cache: bytes per task, tasks of a context.");
  bind_fields<ClockCapabilities>(module, "ClockCapabilities",
                                 "The clocks of a device, and the frequency of its counter in Hz.");
  bind_fields<DpaCapabilities>(module, "DpaCapabilities", "The limits of a DPA: threads that run kernels at a time.");
  bind_fields<Capabilities>(module, "Capabilities",
                            "The capabilities of a function. The field of an engine that the function lacks is None.");
}

}  // namespace pydoca::bindings
