#include <pydoca/device.hpp>
#include <pydoca/device_properties.hpp>

#include "call/scope.hpp"
#include "convert/bindings.hpp"
#include "device/device_object.hpp"
#include "device/device_user.hpp"
#include "device/fields.hpp"
#include "device/find_device.hpp"

#include <pybind11/stl.h>

#include <optional>
#include <string>
#include <vector>

namespace pydoca::bindings {

namespace {

bool is_equal(const DeviceInfo& one, const DeviceInfo& other) {
  return &one.backend() == &other.backend() && one.name() == other.name() && one.pci_addr() == other.pci_addr() &&
         one.properties().side == other.properties().side;
}

py::object to_dict(const DeviceInfo& info) {
  const py::object plain = to_plain(info.properties());
  plain["backend"] = info.properties().backend;
  return plain;
}

py::str selector_text(const char* format, const DeviceInfo& info) {
  return py::str(format).format(info.name(), to_str(to_text(info.properties().side)), info.pci_addr());
}

DeviceInfo make_info(const std::string& selector, const py::object& side, const std::optional<std::string>& pci_addr) {
  DeviceInfo info = find_requested({py::str(selector), to_side(side), std::nullopt});
  // The address in a repr may be empty; then it is not compared.
  if (pci_addr && *pci_addr != info.pci_addr() && !info.is_equal_pci_addr(*pci_addr)) {
    raise(Status::not_found, format_text("{!r} is at {}, not at {}", selector, info.pci_addr(), *pci_addr));
  }
  return info;
}

/// Absent values have getters of their own, which throw the reason.
void bind_device_properties(py::classh<DeviceInfo>& type) {
  const auto bind = [&]<class Field>(const char* name, Field DeviceProperties::* field, const char* doc) {
    if constexpr (!requires(Field value) { value.has_value(); }) {
      type.def_property_readonly(name, [field](const DeviceInfo& info) { return info.properties().*field; }, doc);
    }
  };
  each_field(std::type_identity<DeviceProperties>(), bind);
  bind("backend", &DeviceProperties::backend, "The name of the backend: \"sim\" or \"verbs\".");
}

void bind_absent_properties(py::classh<DeviceInfo>& type) {
  type.def_property_readonly(
          "mac_addr", [](const DeviceInfo& info) { return to_text(info.mac_addr()); },
          "The MAC address of its port. Raises NotSupportedError on an InfiniBand port.")
      .def_property_readonly(
          "ipv4_addr", [](const DeviceInfo& info) { return to_text(info.ipv4_addr()); },
          "The IPv4 address of its interface. Raises NotFoundError when none is set.")
      .def_property_readonly(
          "ipv6_addr", [](const DeviceInfo& info) { return to_text(info.ipv6_addr()); },
          "The IPv6 address of its interface. Raises NotFoundError when none is set.")
      .def_property_readonly("lid", &DeviceInfo::lid,
                             "The LID of its port. Raises NotSupportedError unless the port is InfiniBand.")
      .def_property_readonly("sf_index", &DeviceInfo::sf_index,
                             "The index of the SF. Raises NotSupportedError unless the function is an SF.");
}

void bind_device_info(py::classh<DeviceInfo>& type) {
  type.def(py::init(&make_info), "selector"_a, py::kw_only(), "side"_a = py::none(), "pci_addr"_a = py::none(),
           "The function that selector names: a PCI address, name, ibdev name or interface.")
      .def("is_equal_pci_addr", &DeviceInfo::is_equal_pci_addr, "addr"_a,
           "Compares with an address in the long or the short form; raises InvalidValueError for another form.")
      .def(
          "supports",
          [](const DeviceInfo& info, const py::str& capability) {
            return support_of(info, to_utf8(capability)).supported;
          },
          "capability"_a, "Whether the function has a capability, one of pydoca.CAPABILITIES.")
      .def(
          "why_unsupported",
          [](const DeviceInfo& info, const py::str& capability) {
            return support_of(info, to_utf8(capability)).reason;
          },
          "capability"_a, "The reason why the function lacks a capability; empty when it has the capability.")
      .def("to_dict", &to_dict, "All properties as plain Python, fit for JSON. A property without a value is None.")
      .def("__eq__",
           [](const DeviceInfo& one, py::handle other) -> py::object {
             if (!py::isinstance<DeviceInfo>(other)) return py::reinterpret_borrow<py::object>(Py_NotImplemented);
             return py::bool_(is_equal(one, other.cast<const DeviceInfo&>()));
           })
      .def("__hash__", [](const DeviceInfo& info) { return py::hash(py::make_tuple(info.name(), info.pci_addr())); })
      .def("__repr__", [](const DeviceInfo& info) {
        return selector_text("pydoca.DeviceInfo({!r}, side={!r}, pci_addr={!r})", info);
      });
}

void bind_device_life(py::classh<DeviceObject>& type) {
  type.def("close", &DeviceObject::close,
           "Closes this opening of the device; idempotent. Raises InUseError when it is the last opening and\n"
           "memory maps, contexts or representors use the device.")
      .def(
          "accelerate_resource_reclaim", [](const DeviceObject& self) { self.get()->accelerate_resource_reclaim(); },
          "Keeps costly resources for a quick restart of what uses them. Raises NotSupportedError without the\n"
          "capability accelerate_resource_reclaim, DriverError when the device was removed\n"
          "(doca_dev_accelerate_resource_reclaim).")
      .def_property_readonly("is_open", &DeviceObject::is_open, "False once this opening is closed.")
      .def_property_readonly(
          "removed", [](const DeviceObject& self) { return self.is_open() && self.shared()->removed(); },
          "Whether the function was removed; its operations then fail.")
      .def("__eq__",
           [](const DeviceObject& self, py::handle other) -> py::object {
             if (!py::isinstance<DeviceObject>(other)) return py::reinterpret_borrow<py::object>(Py_NotImplemented);
             return py::bool_(self.shared() == other.cast<const DeviceObject&>().shared());
           })
      .def("__hash__", [](const DeviceObject& self) { return std::hash<Device*>()(self.shared().get()); })
      .def("__repr__", [](const DeviceObject& self) {
        return selector_text(
            self.is_open() ? "pydoca.open_device({!r}, side={!r})" : "<pydoca.Device {0!r} ({2}), closed>",
            self.shared()->info());
      });
}

void bind_device_methods(py::classh<DeviceObject>& type) {
  const auto info = [](const DeviceObject& self) -> const DeviceInfo& { return self.shared()->info(); };
  type.def_property_readonly(
          "info", [info](const DeviceObject& self) { return info(self); }, "The DeviceInfo at the time of the opening.")
      .def_property_readonly(
          "name", [info](const DeviceObject& self) { return info(self).name(); }, "Unique on its side, such as \"p0\".")
      .def_property_readonly(
          "pci_addr", [info](const DeviceObject& self) { return info(self).pci_addr(); },
          "In the long form, 0000:03:00.0; empty for a software device such as Soft-RoCE.")
      .def_property_readonly(
          "side", [info](const DeviceObject& self) { return info(self).properties().side; },
          "The side of the PCIe link on which the function is: HOST or DPU.");
}

void bind_device_classes(py::module_& module) {
  py::classh<DeviceInfo> info(
      module, "DeviceInfo",
      "A function at the time of its enumeration. The object does not change when the function changes or\n"
      "disappears.");
  bind_device_properties(info);
  bind_absent_properties(info);
  bind_device_info(info);
  py::classh<DeviceObject> device(
      module, "Device",
      "A local function that was opened. Two openings of one function give two objects that are equal;\n"
      "close each of them.");
  bind_device_life(device);
  bind_scope(device);
  bind_device_methods(device);
  made_by(module, "Device", "open_device()");
}

}  // namespace

DeviceObject::~DeviceObject() {
  try {
    close();
  } catch (const Error&) {
    // An object that still uses the device keeps it open.
  }
}

const std::shared_ptr<Device>& DeviceObject::get() const {
  if (closed_) {
    throw Error(Status::bad_state, "device " + device_->info().name() + " is closed; open it again");
  }
  return device_;
}

void DeviceObject::release_idle() const { DeviceUser::close_idle(*this); }

void DeviceObject::close() {
  if (closed_) return;
  device_->close();
  closed_ = true;
}

void bind_device(py::module_& module) {
  bind_device_classes(module);
  py::list names;
  for (const Capability& capability : capabilities()) names.append(std::string(capability.name));
  module.attr("CAPABILITIES") = py::tuple(names);
  module.def(
      "devices", [](const py::object& side) { return visible_devices(to_side(side)); }, py::kw_only(),
      "side"_a = py::none(),
      "A snapshot of the functions that this process may see. Raises NotFoundError when there is none.");
  module.def(
      "unavailable_backends",
      [] {
        py::dict reasons;
        for (const UnavailableBackend& absent : unavailable_backends()) reasons[py::str(absent.name)] = absent.reason;
        return reasons;
      },
      "The backends without devices on this machine, by name. The value is the reason, and what to do about\n"
      "it.");
  module.def(
      "open_device",
      [](py::object selector, const py::object& side, std::optional<std::string> capability) {
        return std::make_shared<DeviceObject>(
            Device::open(find_requested({std::move(selector), to_side(side), std::move(capability)})));
      },
      "selector"_a = py::none(), py::kw_only(), "side"_a = py::none(), "capability"_a = py::none(),
      "Opens the function that selector names, or the first one. selector is a PCI address, a name, ibdev\n"
      "name or interface, a DeviceInfo, or a predicate of DeviceInfo. side and capability limit the choice.\n"
      "Raises NotFoundError, NotSupportedError (the function lacks the capability) and InvalidValueError\n"
      "(selector fits several functions).");
}

}  // namespace pydoca::bindings
