#include <pydoca/device_properties.hpp>

#include "convert/bindings.hpp"
#include "device/fields.hpp"

#include <string>
#include <type_traits>

namespace pydoca::bindings {

namespace {

/// Converts values without a Python class of their own to plain Python.
template <class T, class Owner, class Value>
void bind_field(py::classh<T>& type, const char* name, Value Owner::* field, const char* doc) {
  if constexpr (std::is_same_v<Value, MtuSize>) {
    type.def_property_readonly(name, [field](const T& self) { return to_plain(self.*field); }, doc);
  } else {
    type.def_readonly(name, field, doc);
  }
}

/// Binds a read-only property for each field. Equality, hash and repr() use the plain form.
template <class T>
void bind_fields(py::module_& module) {
  py::classh<T> type(module, T::name, T::says);
  each_field(std::type_identity<T>(),
             [&](const char* name, auto field, const char* doc) { bind_field(type, name, field, doc); });
  type.def("to_dict", [](const T& self) { return to_plain(self); }, "The fields as plain Python, fit for JSON.");
  type.def("__eq__", [](const T& self, py::handle other) -> py::object {
    if (!py::isinstance<T>(other)) return py::reinterpret_borrow<py::object>(Py_NotImplemented);
    return py::bool_(to_plain(self).equal(to_plain(other.cast<const T&>())));
  });
  type.def("__hash__", [](const T& self) { return py::hash(py::repr(to_plain(self))); });
  const std::string format = std::string("<pydoca.") + T::name + " {}>";
  type.def("__repr__", [format](const T& self) { return py::str(format).format(to_plain(self)); });
  made_by(module, T::name, "DeviceInfo.capabilities");
}

}  // namespace

void bind_capabilities(py::module_& module) {
  each_library(
      [&]<class T, class Value>(const LibraryField<T, Value>&) { bind_fields<typename Value::value_type>(module); });
  bind_fields<Capabilities>(module);
}

}  // namespace pydoca::bindings
