#include <pydoca/rdma_connect.hpp>

#include "convert/bindings.hpp"
#include "convert/view.hpp"
#include "device/device_object.hpp"
#include "import/import_object.hpp"
#include "memory/import_export.hpp"
#include "memory/mmap_object.hpp"
#include "memory/sync_event_remote_net.hpp"
#include "rdma/rdma_connection_object.hpp"
#include "sync_event/sync_event_object.hpp"

#include <memory>
#include <utility>

namespace pydoca::bindings {

namespace {

template <class Imported>
std::shared_ptr<Imported> taken(PendingImport& pending) {
  return static_cast<Import<Imported>&>(pending).take();
}

constexpr ImportObject::Kind of_mmap{
    .call = "import_mmap",
    .finish = [](PendingImport& pending, const py::object& device, const py::object& user_data) -> py::object {
      return py::cast(std::make_shared<MmapObject>(device, taken<Mmap>(pending), user_data));
    }};
constexpr ImportObject::Kind of_sync_event{
    .call = "import_sync_event",
    .finish = [](PendingImport& pending, const py::object& device, const py::object&) -> py::object {
      return py::cast(std::make_shared<SyncEventObject>(device, taken<SyncEvent>(pending)));
    }};
constexpr ImportObject::Kind of_sync_event_remote_net{
    .call = "import_sync_event_remote_net",
    .finish = [](PendingImport& pending, const py::object& device, const py::object&) -> py::object {
      return py::cast(std::make_shared<SyncEventRemoteNetObject>(device, taken<SyncEventRemoteNet>(pending)));
    }};

constexpr ImportObject::Kind of_connection{
    .call = "begin_connect",
    .finish = [](PendingImport& pending, const py::object& connection, const py::object&) -> py::object {
      static_cast<RdmaConnect&>(pending).take();
      connection.cast<RdmaConnectionObject&>().engine().settle();
      return connection;
    }};

template <class Imported>
std::shared_ptr<ImportObject> begin_import(const ImportObject::Kind& kind, py::object engine, py::object device,
                                           const py::object& blob, py::object user_data = py::none()) {
  EngineObject& its = to_engine(engine);
  its.require_open(kind.call);
  auto pending =
      Import<Imported>::begin(its.engine().shared_from_this(), to_device(device).get(), copy_of(blob, "blob"));
  its.turn().kick();
  return std::make_shared<ImportObject>(std::move(engine), std::move(device), std::move(pending), kind,
                                        std::move(user_data));
}

std::shared_ptr<ImportObject> begin_mmap(py::object engine, py::object device, const py::object& blob,
                                         py::object user_data) {
  return begin_import<Mmap>(of_mmap, std::move(engine), std::move(device), blob, std::move(user_data));
}

std::shared_ptr<ImportObject> begin_sync_event(py::object engine, py::object device, const py::object& blob) {
  return begin_import<SyncEvent>(of_sync_event, std::move(engine), std::move(device), blob);
}

std::shared_ptr<ImportObject> begin_sync_event_remote_net(py::object engine, py::object device,
                                                          const py::object& blob) {
  return begin_import<SyncEventRemoteNet>(of_sync_event_remote_net, std::move(engine), std::move(device), blob);
}

std::shared_ptr<ImportObject> begin_connect(py::object connection, const py::object& details) {
  auto& its = connection.cast<RdmaConnectionObject&>();
  its.require_connectable();
  auto pending = RdmaConnect::begin(its.shared(), copy_of(details, "details"));
  its.engine().turn().kick();
  const py::object engine = its.rdma_ref().cast<ContextObject&>().engine_ref();
  return std::make_shared<ImportObject>(engine, std::move(connection), std::move(pending), of_connection, py::none());
}

}  // namespace

void bind_import(py::module_& module) {
  const py::classh<ImportObject, Awaitable> type(
      module, "Import",
      "An import that its engine progresses: await it, or call wait(), for the map, the\n"
      "event or the connection. One that is dropped before is given up.",
      collectable<ImportObject>());
  bound_class<EngineObject>()
      .def("import_mmap", &begin_mmap, "device"_a, "blob"_a, py::kw_only(), "user_data"_a = py::none(),
           "Begins what device.import_mmap(blob) does, for an event loop: that call waits for the exporting\n"
           "process, up to two seconds for one that does not run. Await the result for the Mmap. Raises the same\n"
           "errors; those that need the exporting process when awaited.")
      .def("import_sync_event", &begin_sync_event, "device"_a, "blob"_a,
           "Begins what device.import_sync_event(blob) does, as import_mmap() begins the import of a map.")
      .def("import_sync_event_remote_net", &begin_sync_event_remote_net, "device"_a, "blob"_a,
           "Begins what device.import_sync_event_remote_net(blob) does, as import_mmap() begins the import of a\n"
           "map.");
  bound_class<RdmaConnectionObject>().def(
      "begin_connect", &begin_connect, "details"_a,
      "Begins what connect() does, for an event loop: that call waits for the peer, up to two seconds for\n"
      "one that does not run. Await the result for the connection. Raises the same errors; those that need\n"
      "the peer when awaited.");
}

}  // namespace pydoca::bindings
