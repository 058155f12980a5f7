#include <pydoca/mmap.hpp>

#include "call/raw_method.hpp"
#include "call/reader.hpp"
#include "call/scope.hpp"
#include "convert/bindings.hpp"
#include "convert/collectable.hpp"
#include "convert/items.hpp"
#include "convert/parse.hpp"
#include "device/device_object.hpp"
#include "memory/mmap_object.hpp"

#include <pybind11/stl.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

namespace pydoca::bindings {

namespace {

void set_mmap_slots(PyHeapTypeObject* type) {
  collectable<MmapObject>().value(type);
  set_view_slots<MmapObject>(type);
}

void set_max_num_devices(MmapObject& self, const py::object& count) {
  self.get()->set_max_num_devices(to_u32(count, "max_num_devices"));
}

std::shared_ptr<MmapObject> new_mmap(py::object memory, const py::iterable& devices, const py::object& access,
                                     py::object user_data, py::object free_callback, const py::object& max_num_devices,
                                     bool thread_safety) {
  auto self = std::make_shared<MmapObject>();
  if (thread_safety) self->get()->enable_thread_safety();
  if (!max_num_devices.is_none()) set_max_num_devices(*self, max_num_devices);
  for (const py::handle device : devices) self->add_device(py::reinterpret_borrow<py::object>(device));
  if (!access.is_none()) self->set_permissions(to_access(access));
  if (!memory.is_none()) self->set_memrange(std::move(memory));
  self->set_user_data(std::move(user_data));
  self->set_free_callback(std::move(free_callback));
  return self;
}

py::str mmap_repr(const MmapObject& self) {
  const Mmap& mmap = self.look();
  return py::str("<pydoca.Mmap of {} bytes at {:#x}, {}, {}>")
      .format(mmap.len(), mmap.addr(), to_text(mmap.permissions()), self.state());
}

void bind_configuration(py::classh<MmapObject>& type) {
  type.def(py::init(&new_mmap), "memory"_a = py::none(), py::kw_only(), "devices"_a = py::tuple(),
           "access"_a = py::none(), "user_data"_a = py::none(), "free_callback"_a = py::none(),
           "max_num_devices"_a = py::none(), "thread_safety"_a = false,
           "A map that is configured and not started. free_callback(memory) runs at the end of a map that was\n"
           "started at least once, when no task or buf refers to the memory any more; views keep the memory beyond\n"
           "that. thread_safety: as enable_thread_safety() says.")
      .def("add_device", &MmapObject::add_device, "device"_a,
           "Adds a device. Raises AlreadyExistError, NoMemoryError (above max_num_devices), NotPermittedError\n"
           "(started, imported).")
      .def("remove_device", &MmapObject::remove_device, "device"_a,
           "Removes a device. Raises NotFoundError, and the errors of add_device().")
      .def("set_memrange", &MmapObject::set_memrange, "memory"_a,
           "Sets the memory: any object with the buffer protocol, C-contiguous. It can be set once\n"
           "(NotPermittedError). The memory stays until map and views have gone. Raises BadStateError when started,\n"
           "InvalidValueError for an empty object.")
      .def("set_dmabuf_memrange", &MmapObject::set_dmabuf_memrange, "dmabuf_fd"_a, "addr"_a, "offset"_a, "len"_a,
           "Would set memory of another driver, such as a GPU's. Raises NotSupportedError: no device takes it, as\n"
           "the capability mmap_dmabuf says. Raises InvalidValueError for a bad descriptor or range, BadStateError\n"
           "and NotPermittedError as set_memrange() does (doca_mmap_set_dmabuf_memrange).")
      .def(
          "enable_thread_safety", [](MmapObject& self) { self.get()->enable_thread_safety(); },
          "Lets several threads take bufs of the map, each with an inventory of its own, and lets close() succeed\n"
          "while bufs are out: what it releases is then released when the bufs and the map have gone. Raises\n"
          "NotPermittedError when started (doca_mmap_enable_thread_safety).")
      .def_static("is_dmabuf_supported", &Mmap::is_dmabuf_supported, "info"_a,
                  "Always False: no device takes memory of another driver.")
      .def(
          "set_permissions",
          [](MmapObject& self, const py::object& access) { self.set_permissions(to_access(access)); }, "access"_a,
          "Sets the permissions. Raises InvalidValueError for pci_read_only with pci_read_write, and for write\n"
          "permission on read-only memory; BadStateError when started.");
}

void bind_mmap_life(py::classh<MmapObject>& type) {
  type.def("start", &MmapObject::start,
           "Registers the range on every device. Raises InvalidValueError without range or device,\n"
           "NotPermittedError when started or imported.")
      .def("stop", &MmapObject::stop,
           "Withdraws exports and waits for peers' accesses, for a second at most. Raises NotPermittedError\n"
           "while bufs point into the map, AgainError while a peer's access has not ended. Does nothing for a\n"
           "stopped map.")
      .def("close", &MmapObject::close,
           "Stops the map, and releases the memory; idempotent. Raises the errors of stop().")
      .def("export_pci", &MmapObject::export_pci, "device"_a = py::none(),
           "Exports the range, for the other side of device's PCIe link: a description of less than 512 bytes.\n"
           "device may be omitted when the map has only one. Raises NotPermittedError (not started, no PCI\n"
           "permission, imported), NotFoundError (device not added), NotSupportedError.")
      .def("export_rdma", &MmapObject::export_rdma, "device"_a = py::none(),
           "Exports the range, for peers on device's network: a description of less than 512 bytes. device may\n"
           "be omitted when the map has only one. Peers may do what both the map's RDMA permissions and an Rdma\n"
           "context's permissions allow. Raises NotPermittedError (not started, no RDMA permission, imported),\n"
           "NotFoundError, NotSupportedError (doca_mmap_export_rdma).")
      .def("__repr__", &mmap_repr);
}

template <auto member>
constexpr auto read_mmap = &read_number<MmapObject, &MmapObject::look, member>;

/// A program uses these for the addresses of its bufs, therefore they are raw properties.
std::span<PyGetSetDef> mmap_properties() {
  static std::array properties{
      raw_property("addr", read_mmap<&Mmap::addr>, nullptr,
                   "The address of the range in its owner's address space; 0 without a range."),
      raw_property("len", read_mmap<&Mmap::len>, nullptr, "The length of the range in bytes."),
  };
  return properties;
}

void bind_mmap_properties(py::classh<MmapObject>& type) {
  const auto look = reader(type, &MmapObject::look);
  look("access", &Mmap::permissions, "The Access of devices and peers.");
  look("is_started", &Mmap::is_started, "Whether the map is started, and devices reach it.");
  look("is_exported", &Mmap::is_exported, "Whether it was exported since it was started.");
  look("is_from_export", &Mmap::is_from_export, "Whether it maps the memory of a peer.");
  look("num_bufs", &Mmap::num_bufs, "The number of bufs that point into the map now.");
  look("is_thread_safe", &Mmap::is_thread_safe, "Whether enable_thread_safety() was called.");
  type.def("__len__", [](const MmapObject& self) { return self.look().len(); })
      .def("__bool__", [](const MmapObject&) { return true; })
      .def("_snapshot", &MmapObject::snapshot, "limit"_a)
      .def_property_readonly("devices", &MmapObject::devices, "The devices that were added.")
      .def_property_readonly("memory", &MmapObject::memory,
                             "The object with the memory, as given to set_memrange(); None for an imported map.")
      .def_property("user_data", &MmapObject::user_data, &MmapObject::set_user_data,
                    "Any object. It can be set while the map is stopped.")
      .def_property("free_callback", &MmapObject::free_callback, &MmapObject::set_free_callback,
                    "The function that gets the memory when a map that was started since is released, or None. It\n"
                    "can be set while the map is stopped (BadStateError).")
      .def_property(
          "max_num_devices", [](const MmapObject& self) { return self.look().max_num_devices(); }, &set_max_num_devices,
          "The largest number of devices. Setting it raises NotPermittedError after the first start,\n"
          "InvalidValueError for a number below the number of devices, or above 512.");
}

py::object make_mmap(const py::object& device, py::object memory, const py::object& access, py::object user_data,
                     py::object free_callback) {
  auto mmap = new_mmap(py::none(), py::make_tuple(device), access, std::move(user_data), std::move(free_callback),
                       py::none(), false);
  mmap->set_memrange(std::move(memory));
  mmap->start();
  return py::cast(std::move(mmap));
}

py::object import_mmap(py::object device, const py::buffer& blob, py::object user_data) {
  auto imported = import_export<Mmap>(device, blob);
  return py::cast(std::make_shared<MmapObject>(std::move(device), std::move(imported), std::move(user_data)));
}

void add_device_methods() {
  auto device = bound_class<DeviceObject>();
  device.def("mmap", &make_mmap, "memory"_a, py::kw_only(), "access"_a = py::none(), "user_data"_a = py::none(),
             "free_callback"_a = py::none(),
             "A started memory map of any object with the buffer protocol. access defaults to local_read_write,\n"
             "and to local_read_only for read-only memory. Raises InvalidValueError.");
  device.def("import_mmap", &import_mmap, "blob"_a, py::kw_only(), "user_data"_a = py::none(),
             "A map of the memory that blob describes. export_pci() on the other side, or export_rdma() on the\n"
             "network, made the blob. The map has the exporter's addresses. Raises InvalidValueError and\n"
             "UnsupportedVersionError for a bad blob, NotPermittedError (the wrong device or side),\n"
             "NotConnectedError (the export was withdrawn, or the exporter is gone), NotSupportedError.");
}

}  // namespace

void bind_mmap(py::module_& module) {
  py::classh<MmapObject> type(
      module, "Mmap",
      "A range of memory that devices may reach. It has the buffer protocol, unless it is imported. One\n"
      "thread at a time: a call during another thread's start, stop or close raises InUseError.",
      py::custom_type_setup(set_mmap_slots));
  bind_configuration(type);
  bind_mmap_life(type);
  bind_scope(type);
  add_properties(type, mmap_properties());
  bind_mmap_properties(type);
  bind_items(type);
  bind_array_protocols(type);
  add_device_methods();
}

}  // namespace pydoca::bindings
