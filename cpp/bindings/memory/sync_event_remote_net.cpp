#include "memory/sync_event_remote_net.hpp"

#include "call/scope.hpp"
#include "convert/bindings.hpp"
#include "convert/convert.hpp"
#include "device/device_object.hpp"
#include "memory/import_export.hpp"

#include <string>
#include <utility>

namespace pydoca::bindings {

void SyncEventRemoteNetObject::enter() const {
  if (is_closed()) raise(Status::bad_state, "sync event of the network: it is closed; import another");
}

void bind_sync_event_remote_net(py::module_& module) {
  py::classh<SyncEventRemoteNetObject> type(module, "SyncEventRemoteNet",
                                            "A network peer's sync event: an operand of RDMA tasks.");
  type.def("close", &SyncEventRemoteNetObject::close, "Releases the event; idempotent.")
      .def_property_readonly("device", &SyncEventRemoteNetObject::device_ref, "The Device on which it was imported.")
      .def_property_readonly("closed", &SyncEventRemoteNetObject::is_closed, "Whether it is released.")
      .def("__repr__", [](const SyncEventRemoteNetObject& self) {
        return "<pydoca.SyncEventRemoteNet on " + self.get().device()->info().name() +
               (self.is_closed() ? ", closed>" : ">");
      });
  bind_scope(type);
  const auto import_event = [](py::object device, const py::object& blob) {
    auto imported = import_export<SyncEventRemoteNet>(device, blob);
    return std::make_shared<SyncEventRemoteNetObject>(std::move(device), std::move(imported));
  };
  bound_class<DeviceObject>().def(
      "import_sync_event_remote_net", import_event, "blob"_a,
      "The event of a network peer that blob describes. SyncEvent.export_to_remote_net() made the blob.\n"
      "Raises the errors of import_mmap() (doca_sync_event_remote_net_create_from_export).");
  made_by(module, "SyncEventRemoteNet", "Device.import_sync_event_remote_net()");
}

}  // namespace pydoca::bindings
