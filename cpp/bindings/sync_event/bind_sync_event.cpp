#include <pydoca/sync_event.hpp>

#include "call/raw_method.hpp"
#include "call/reader.hpp"
#include "call/scope.hpp"
#include "convert/bindings.hpp"
#include "convert/collectable.hpp"
#include "convert/convert.hpp"
#include "convert/names.hpp"
#include "convert/parse.hpp"
#include "device/device_object.hpp"
#include "dpa/dpa_object.hpp"
#include "memory/import_export.hpp"
#include "sync_event/sync_event_object.hpp"

#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

namespace pydoca::bindings {

namespace {

/// Seconds, or None for no limit.
std::chrono::nanoseconds to_timeout(PyObject* value, const char* method) {
  const std::optional<double> seconds = to_seconds(value);
  if (!seconds) return SyncEvent::forever;
  if (!(*seconds >= 0)) {
    raise(Status::invalid_value, format_text("{}: timeout is in seconds, 0 or more, or None for no limit, and is {}",
                                             method, py::handle(value)));
  }
  constexpr double limit = 1e9;  // some years; more nanoseconds would overflow
  return *seconds < limit ? std::chrono::nanoseconds(static_cast<std::int64_t>(*seconds * 1e9)) : SyncEvent::forever;
}

PyObject* new_int(std::uint64_t value) { return PyLong_FromUnsignedLongLong(value); }

PyObject* get_value(PyObject* self) { return new_int(object_of<SyncEventObject>(self).get()); }

void update_set(PyObject* self, const std::array<PyObject*, 1>& value) {
  object_of<SyncEventObject>(self).update_set(to_u64(value[0], "value"));
}

PyObject* update_add(PyObject* self, const std::array<PyObject*, 1>& value) {
  return new_int(object_of<SyncEventObject>(self).update_add(to_u64(value[0], "value")));
}

template <auto function, WaitMode mode, Text signature>
void wait_for(PyObject* self, const std::array<PyObject*, 3>& given) {
  const char* const name = RawSignature<signature>::parameters.method;
  const auto [value, mask, timeout] = given;
  object_of<SyncEventObject>(self).wait({function, name, mode}, to_u64(value, "value"),
                                        mask == nullptr ? all_bits : to_u64(mask, "mask"), to_timeout(timeout, name));
}

template <Text signature, auto function, WaitMode mode>
PyMethodDef wait_method(const char* doc) {
  return raw_method<signature, &wait_for<function, mode, signature>>(doc);
}

std::span<PyMethodDef> event_operations() {
  static std::array methods{
      raw_method<"get($self, /)", &get_value>(
          "Returns the value. Raises BadStateError unless started by start(); NotConnectedError when its owner has\n"
          "stopped it, ConnectionResetError when its owner is gone (doca_sync_event_get)."),
      raw_method<"update_set($self, /, value)", &update_set>(
          "Stores value, 0..2**64-1 (InvalidValueError). Raises the errors of get()\n"
          "(doca_sync_event_update_set)."),
      raw_method<"update_add($self, /, value)", &update_add>(
          "Adds value atomically, modulo 2**64, and returns the value before. Raises the errors of get()\n"
          "(doca_sync_event_update_add)."),
      wait_method<"wait_gt($self, /, value, mask=18446744073709551615, *, timeout=None)", &SyncEvent::wait_gt,
                  WaitMode::busy>(
          "Waits until (the event's value & mask) > value. It spins: use it for short waits. timeout in\n"
          "seconds, None for no limit (TimeOutError). Ctrl-C ends it. Raises the errors of get(), and\n"
          "ConnectionResetError when a process that has imported the event is gone, once for each process;\n"
          "NotConnectedError while the publisher is remote and every process that had imported the event has\n"
          "gone, unless outlives_importers (doca_sync_event_wait_gt)."),
      wait_method<"wait_eq($self, /, value, mask=18446744073709551615, *, timeout=None)", &SyncEvent::wait_eq,
                  WaitMode::busy>(
          "Waits as wait_gt() does, until (the event's value & mask) == value (doca_sync_event_wait_eq)."),
      wait_method<"wait_neq($self, /, value, mask=18446744073709551615, *, timeout=None)", &SyncEvent::wait_neq,
                  WaitMode::busy>(
          "Waits as wait_gt() does, until (the event's value & mask) != value (doca_sync_event_wait_neq)."),
      wait_method<"wait_gt_yield($self, /, value, mask=18446744073709551615, *, timeout=None)", &SyncEvent::wait_gt,
                  WaitMode::yield>(
          "Waits as wait_gt() does, but yields its core between checks (doca_sync_event_wait_gt_yield)."),
      wait_method<"wait_eq_yield($self, /, value, mask=18446744073709551615, *, timeout=None)", &SyncEvent::wait_eq,
                  WaitMode::yield>(
          "Waits as wait_eq() does, but yields its core between checks (doca_sync_event_wait_eq_yield)."),
      wait_method<"wait_neq_yield($self, /, value, mask=18446744073709551615, *, timeout=None)", &SyncEvent::wait_neq,
                  WaitMode::yield>(
          "Waits as wait_neq() does, but yields its core between checks (doca_sync_event_wait_neq_yield)."),
  };
  return methods;
}

void bind_location(py::module_& module) {
  py::native_enum<SyncEventLocation> type(
      module, "SyncEventLocation", "enum.IntEnum",
      "A place from which a sync event is updated, or where it is waited for. NONE: the location of an\n"
      "imported event, which only its owner knows.");
  bind_names(std::move(type.value("NONE", SyncEventLocation::none)), location_names);
}

std::shared_ptr<SyncEventObject> new_event(py::object device, const py::object& publisher, const py::object& subscriber,
                                           py::object memory, py::object buf, bool outlives_importers) {
  std::shared_ptr<Dpa> publisher_dpa = dpa_of(publisher);
  std::shared_ptr<Dpa> subscriber_dpa = dpa_of(subscriber);
  const auto location = [](const std::shared_ptr<Dpa>& dpa, const py::object& given, const char* what) {
    return dpa != nullptr ? SyncEventLocation::dpa : to_location(given, what);
  };
  const SyncEventLocation from = location(publisher_dpa, publisher, "publisher");
  const SyncEventLocation to = location(subscriber_dpa, subscriber, "subscriber");
  return std::make_shared<SyncEventObject>(
      std::move(device), SyncEventObject::Options{from, to, std::move(publisher_dpa), std::move(subscriber_dpa),
                                                  std::move(memory), std::move(buf), outlives_importers});
}

void bind_event_life(py::classh<SyncEventObject>& type) {
  type.def(py::init(&new_event), "dev"_a, py::kw_only(), "publisher"_a = "cpu", "subscriber"_a = "cpu",
           "memory"_a = py::none(), "buf"_a = py::none(), "outlives_importers"_a = false,
           "An event that is configured and not started. publisher, subscriber: cpu, remote_pci, remote_net\n"
           "(publisher only) or a Dpa; gpu raises NotSupportedError. memory: 8 writable, aligned bytes for the\n"
           "value; the event begins with their present value. buf: a Buf with 8 bytes of data, likewise. Without\n"
           "memory and buf the event has memory of its own, and begins at 0. outlives_importers: waits for an\n"
           "event with a remote publisher go on after the last process that had imported it has gone, for the\n"
           "next one to come; otherwise they raise NotConnectedError. Raises InvalidValueError,\n"
           "NotPermittedError (permissions of the buf's map).")
      .def("start", &SyncEventObject::start,
           "Starts the event for the synchronous operations. This mode is fixed for life. Raises\n"
           "InvalidValueError when it was started, BadStateError when it has a context (doca_sync_event_start).")
      .def("stop", &SyncEventObject::stop,
           "Ends exports and waits. Then only close() is allowed. Raises InvalidValueError unless started,\n"
           "BadStateError when it has a context, AgainError while a peer's access has not ended\n"
           "(doca_sync_event_stop).")
      .def("close", &SyncEventObject::close,
           "Stops the event, and closes it for good; idempotent. Raises InUseError while another thread waits on\n"
           "it, or its context is not IDLE.");
  bind_scope(type);
}

void bind_exports(py::classh<SyncEventObject>& type) {
  type.def("export_to_remote_pci", &SyncEventObject::export_to_remote_pci, "dev"_a = py::none(),
           "Exports the event, for the other side of the device's PCIe link: a description of less than 512\n"
           "bytes, for import_sync_event. Raises InvalidValueError (not started, imported, no remote_pci\n"
           "location, another device than its own), NotSupportedError (the device cannot, or another process\n"
           "cannot map the memory: give the event pydoca.alloc(8)).")
      .def("export_to_remote_net", &SyncEventObject::export_to_remote_net,
           "Exports the event, for a network peer: a description of less than 512 bytes, for\n"
           "import_sync_event_remote_net. The publisher must be remote_net. Raises the errors of\n"
           "export_to_remote_pci().")
      .def(
          "dpa_handle",
          [](const SyncEventObject& self, const py::object& dpa) {
            const std::shared_ptr<Dpa> of = dpa_of(dpa);
            if (of == nullptr) throw py::type_error("dpa must be a pydoca.Dpa, not " + type_name(dpa));
            return std::make_shared<DpaSyncEventObject>(self.event().dpa_handle(*of));
          },
          "dpa"_a,
          "The event for kernels of the Dpa that is one of its locations, a DpaSyncEvent. Raises\n"
          "InvalidValueError (not started, imported, or another Dpa) (doca_sync_event_get_dpa_handle).");
}

void bind_event_properties(py::classh<SyncEventObject>& type) {
  type.def_property_readonly("device", &SyncEventObject::device_ref,
                             "The Device whose CPU has the event, or on which it was imported.")
      .def_property_readonly("closed", &SyncEventObject::is_closed, "Whether it is closed for good.")
      .def("__repr__", [](const SyncEventObject& self) {
        const SyncEvent& event = self.event();
        const std::string locations = event.is_from_export()
                                          ? std::string("imported")
                                          : "publisher " + std::string(to_text(event.publisher())) + ", subscriber " +
                                                std::string(to_text(event.subscriber()));
        return "<pydoca.SyncEvent on " + self.place() + ", " + locations + ", " + std::string(self.state()) + ">";
      });
  type.def(
      "_snapshot", [](const SyncEventObject& self) { return py::make_tuple(self.state(), self.num_waits()); },
      "For displays: its state, and the number of threads that wait.");
  const auto read = reader(type, &SyncEventObject::event);
  read("publisher", &SyncEvent::publisher, "The location from which it is signalled.");
  read("subscriber", &SyncEvent::subscriber, "The location where it is waited for.");
  read("outlives_importers", &SyncEvent::outlives_importers,
       "Whether waits go on when the last process that had imported it has gone.");
  read("is_started", &SyncEvent::is_started, "Whether it is started, for the synchronous operations.");
  read("is_from_export", &SyncEvent::is_from_export, "Whether another process owns it.");
}

void bind_queries(py::classh<SyncEventObject>& type) {
  const auto query = [&](const char* name, bool (*supported)(const DeviceInfo&) noexcept, const char* doc) {
    type.def_static(name, [supported](const DeviceInfo& info) { return supported(info); }, "info"_a, doc);
  };
  query("is_supported", &SyncEvent::is_supported, "Whether the device has sync events.");
  query("is_export_to_remote_pci_supported", &SyncEvent::is_export_to_remote_pci_supported,
        "Whether the device exports sync events over PCIe.");
  query("is_create_from_export_supported", &SyncEvent::is_create_from_export_supported,
        "Whether the device imports sync events over PCIe.");
  query("is_export_to_remote_net_supported", &SyncEvent::is_export_to_remote_net_supported,
        "Whether the device exports sync events to network peers.");
  query("is_remote_net_create_from_export_supported", &SyncEvent::is_remote_net_create_from_export_supported,
        "Whether the device imports sync events of network peers.");
  query("is_export_to_dpa_supported", &SyncEvent::is_export_to_dpa_supported,
        "Whether the device's DPA can use its sync events.");
  query("is_export_to_gpu_supported", &SyncEvent::is_export_to_gpu_supported,
        "Always False: pydoca does not support this.");
}

void add_import() {
  const auto import_event = [](py::object from, const py::object& blob) {
    auto imported = import_export<SyncEvent>(from, blob);
    return std::make_shared<SyncEventObject>(std::move(from), std::move(imported));
  };
  bound_class<DeviceObject>().def(
      "import_sync_event", import_event, "blob"_a,
      "The event that blob describes; not started. SyncEvent.export_to_remote_pci() on the other side made\n"
      "the blob. Raises the errors of import_mmap() (doca_sync_event_create_from_export).");
}

}  // namespace

void bind_sync_event(py::module_& module) {
  bind_location(module);
  py::classh<SyncEventObject> type(
      module, "SyncEvent",
      "A 64-bit counter on which processes, or the two sides of a PCIe link, wait for one another. Use it\n"
      "in a with block, or as a context with tasks (as_context).",
      collectable<SyncEventObject>());
  bind_event_life(type);
  bind_exports(type);
  bind_event_properties(type);
  bind_queries(type);
  add_methods(type, event_operations());
  add_import();
}

}  // namespace pydoca::bindings
