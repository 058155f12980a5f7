#include "device/find_device.hpp"

#include <pydoca/status.hpp>

#include "convert/convert.hpp"
#include "convert/parse.hpp"

#include <array>
#include <cstddef>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace pydoca::bindings {

namespace py = pybind11;

namespace {

using Query = bool (*)(const backend::Capabilities&);

/// A capability of sync events.
template <bool backend::SyncEventCapabilities::* field>
bool has_sync_event(const backend::Capabilities& can) {
  return can.sync_event.has_value() && (*can.sync_event).*field;
}

using SyncEventCan = backend::SyncEventCapabilities;

constexpr std::array<std::pair<std::string_view, Query>, 16> queries{{
    {"dma", [](const backend::Capabilities& can) { return can.dma.has_value(); }},
    {"comch_server", [](const backend::Capabilities& can) { return can.comch.has_value() && can.comch->server; }},
    {"comch_client", [](const backend::Capabilities& can) { return can.comch.has_value() && can.comch->client; }},
    {"mmap_export_pci", [](const backend::Capabilities& can) { return can.mmap_export_pci; }},
    {"mmap_create_from_export_pci", [](const backend::Capabilities& can) { return can.mmap_create_from_export_pci; }},
    {"mmap_export_rdma", [](const backend::Capabilities& can) { return can.mmap_export_rdma; }},
    {"rdma", [](const backend::Capabilities& can) { return can.rdma.has_value(); }},
    {"rdma_connection_manager",
     [](const backend::Capabilities& can) { return can.rdma.has_value() && can.rdma->no_connection_manager.empty(); }},
    {"rdma_atomics",
     [](const backend::Capabilities& can) {
       return can.rdma.has_value() &&
              can.rdma->no_opcode[static_cast<std::size_t>(backend::RdmaOpcode::fetch_add)].empty();
     }},
    {"representors", [](const backend::Capabilities& can) { return can.rep_filter_all; }},
    {"sync_event", [](const backend::Capabilities& can) { return can.sync_event.has_value(); }},
    {"sync_event_export_to_remote_pci", has_sync_event<&SyncEventCan::export_to_remote_pci>},
    {"sync_event_create_from_export", has_sync_event<&SyncEventCan::create_from_export>},
    {"sync_event_export_to_remote_net", has_sync_event<&SyncEventCan::export_to_remote_net>},
    {"sync_event_remote_net_create_from_export", has_sync_event<&SyncEventCan::remote_net_create_from_export>},
    {"async_sync_event_wait", has_sync_event<&SyncEventCan::async_wait>},
}};

Query find_query(const std::string& capability) {
  std::vector<std::string_view> known;
  for (const auto& [name, query] : queries) {
    if (name == capability) return query;
    known.push_back(name);
  }
  refuse_word("capability", capability, known);
}

/// The topology that PYDOCA_TOPOLOGY names comes into force at the first look, unless the program has chosen one.
void load_environment() {
  const char* const file = std::getenv("PYDOCA_TOPOLOGY");
  if (file != nullptr && *file != '\0') py::module_::import("pydoca.sim").attr("_load_environment")();
}

DeviceInfo find_by_predicate(const py::object& predicate, std::optional<Side> side) {
  return find_device([&](const DeviceInfo& info) { return py::bool_(predicate(info)).cast<bool>(); }, side);
}

DeviceInfo select(const py::object& selector, std::optional<Side> side) {
  if (py::isinstance<py::str>(selector)) return find_device(to_utf8(selector), side);
  if (py::isinstance<DeviceInfo>(selector)) {
    auto info = selector.cast<DeviceInfo>();
    if (!side || info.properties().side == *side) return info;
    raise(Status::not_found, py::str("{} is on side {}, not {}")
                                 .format(info.name(), to_str(to_text(info.properties().side)), to_str(to_text(*side)))
                                 .cast<std::string>());
  }
  if (PyCallable_Check(selector.ptr()) != 0) return find_by_predicate(selector, side);
  throw py::type_error(py::str("a device is selected by a str, a DeviceInfo or a callable, not by {}")
                           .format(py::type::handle_of(selector).attr("__name__"))
                           .cast<std::string>());
}

DeviceInfo find_capable(Query query, const DeviceRequest& request) {
  try {
    return find_device([query](const DeviceInfo& info) { return query(info.capabilities()); }, request.side);
  } catch (const Error& error) {
    if (error.status() != Status::not_found) throw;
    const char* const backend = std::getenv("PYDOCA_BACKEND");
    const std::string limit =
        backend != nullptr && *backend != '\0' ? std::string("; PYDOCA_BACKEND limits them to ") + backend : "";
    raise(Status::not_found, std::string(error.what()) + "; what is needed is " + *request.capability + limit);
  }
}

}  // namespace

std::vector<DeviceInfo> visible_devices(std::optional<Side> side) {
  load_environment();
  std::vector<DeviceInfo> infos = devices();
  if (side) std::erase_if(infos, [&](const DeviceInfo& info) { return info.properties().side != *side; });
  return infos;
}

DeviceInfo find_requested(const DeviceRequest& request) {
  const Query query = request.capability ? find_query(*request.capability) : nullptr;
  load_environment();
  if (request.selector.is_none()) {
    return query != nullptr ? find_capable(query, request)
                            : find_device([](const DeviceInfo&) { return true; }, request.side);
  }
  DeviceInfo info = select(request.selector, request.side);
  if (query != nullptr && !query(info.capabilities())) {
    raise(Status::not_supported, py::str("{} ({}) has no capability {!r}")
                                     .format(info.name(), info.pci_addr(), *request.capability)
                                     .cast<std::string>());
  }
  return info;
}

bool supports(const DeviceInfo& info, const std::string& capability) {
  return find_query(capability)(info.capabilities());
}

}  // namespace pydoca::bindings
