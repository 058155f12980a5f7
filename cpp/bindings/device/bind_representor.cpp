#include <pydoca/device_properties.hpp>
#include <pydoca/representor.hpp>

#include "call/scope.hpp"
#include "convert/bindings.hpp"
#include "device/device_object.hpp"
#include "device/fields.hpp"

#include <memory>
#include <string>

namespace pydoca::bindings {

namespace {

using Info = RepresentorProperties;

py::str text(const char* format, const Info& info) { return py::str(format).format(info.name, info.pci_addr); }

bool is_equal_pci_addr(const Info& info, const std::string& addr) { return canonical_pci_addr(addr) == info.pci_addr; }

void bind_info(py::module_& module) {
  py::classh<Info> type(
      module, "RepresentorInfo",
      "A function of the other side, or an SF, as the DPU saw it. pci_addr is the function's address on its\n"
      "own side.");
  each_field(std::type_identity<Info>(),
             [&](const char* name, auto field, const char* doc) { type.def_readonly(name, field, doc); });
  type.def("is_equal_pci_addr", &is_equal_pci_addr, "addr"_a,
           "Compares with an address in the long or the short form; raises InvalidValueError for another form.")
      .def(
          "to_dict", [](const Info& info) { return to_plain(info); }, "The fields as plain Python, fit for JSON.")
      .def("__eq__",
           [](const Info& one, py::handle other) -> py::object {
             if (!py::isinstance<Info>(other)) return py::reinterpret_borrow<py::object>(Py_NotImplemented);
             return py::bool_(to_plain(one).equal(to_plain(other.cast<const Info&>())));
           })
      .def("__hash__", [](const Info& info) { return py::hash(py::make_tuple(info.name, info.pci_addr)); })
      .def("__repr__", [](const Info& info) { return text("<pydoca.RepresentorInfo {!r} ({})>", info); });
  made_by(module, "RepresentorInfo", "Device.representors()");
}

void bind_representor_properties(py::classh<RepresentorObject>& type) {
  const auto info = [](const RepresentorObject& self) -> const Info& { return self.shared()->properties(); };
  type.def_property_readonly(
      "info", [info](const RepresentorObject& self) { return info(self); },
      "The RepresentorInfo at the time of the opening.");
  each_field(std::type_identity<Info>(), [&](const char* name, auto field, const char* doc) {
    type.def_property_readonly(name, [info, field](const RepresentorObject& self) { return info(self).*field; }, doc);
  });
  type.def(
      "is_equal_pci_addr",
      [info](const RepresentorObject& self, const std::string& addr) { return is_equal_pci_addr(info(self), addr); },
      "addr"_a, "Compares with an address in the long or the short form; raises InvalidValueError for another form.");
}

void bind_representor_life(py::classh<RepresentorObject>& type) {
  type.def_property_readonly("is_open", &RepresentorObject::is_open, "False once it is closed.")
      .def("close", &RepresentorObject::close,
           "Closes the representor; idempotent. Raises InUseError while a server is on it.")
      .def("__repr__", [](const RepresentorObject& self) {
        return text(self.is_open() ? "<pydoca.Representor {!r} ({})>" : "<pydoca.Representor {!r} ({}), closed>",
                    self.shared()->properties());
      });
}

std::shared_ptr<RepresentorObject> open(const DeviceObject& device, const py::object& selector) {
  if (py::isinstance<Info>(selector)) {
    return std::make_shared<RepresentorObject>(device.get()->open_representor(selector.cast<const Info&>()));
  }
  if (!py::isinstance<py::str>(selector)) {
    throw py::type_error(
        format_text("a representor is selected by a str or a RepresentorInfo, not by {}", type_name(selector)));
  }
  return std::make_shared<RepresentorObject>(device.get()->open_representor(to_utf8(selector)));
}

}  // namespace

const std::shared_ptr<Representor>& RepresentorObject::get() const {
  static_cast<void>(representor_->device());  // throws when closed
  return representor_;
}

void RepresentorObject::close() {
  if (is_open()) representor_->close();
}

void bind_representor(py::module_& module) {
  bind_info(module);
  py::classh<RepresentorObject> type(module, "Representor",
                                     "An opened representor: it stands for a function on the DPU.");
  bind_representor_properties(type);
  bind_representor_life(type);
  bind_scope(type);
  auto device = bound_class<DeviceObject>();
  device.def(
      "representors",
      [](const DeviceObject& self, const py::object& filter) {
        return self.get()->representors(to_rep_filter(filter));
      },
      "filter"_a = py::cast(RepFilter::all),
      "A snapshot of the representors whose parent is this device. Raises NotSupportedError on the host,\n"
      "and for a filter that the device lacks.");
  device.def("open_representor", &open, "selector"_a,
             "Opens the representor that selector names: the represented function's PCI address, the representor's\n"
             "name or interface, or a RepresentorInfo. Raises NotFoundError and InvalidValueError.");
  made_by(module, "Representor", "Device.open_representor()");
}

}  // namespace pydoca::bindings
