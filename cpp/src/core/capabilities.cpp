#include "pydoca/capabilities.hpp"

#include "detail/concat.hpp"

#include <array>

namespace pydoca {

namespace {

Support support_if(bool supported, std::string_view reason) {
  return {.supported = supported, .reason = supported ? std::string() : std::string(reason)};
}

/// By a refusal, which is empty where there is none.
Support support_unless(std::string_view refusal) { return support_if(refusal.empty(), refusal); }

template <bool Capabilities::* field>
Support has(const DeviceInfo& info, std::string_view reason) {
  return support_if(info.capabilities().*field, reason);
}

template <bool ComchCapabilities::* field>
Support has_comch(const DeviceInfo& info, std::string_view reason) {
  const auto& comch = info.capabilities().comch;
  return comch.has_value() ? support_if((*comch).*field, reason) : support_if(false, "it has no comch");
}

template <bool SyncEventCapabilities::* field>
Support has_sync_event(const DeviceInfo& info, std::string_view reason) {
  const auto& events = info.capabilities().sync_event;
  return events.has_value() ? support_if((*events).*field, reason) : support_if(false, "it has no sync events");
}

template <class Refusal>
Support has_rdma(const DeviceInfo& info, Refusal refusal) {
  const Capabilities& can = info.capabilities();
  return can.rdma.has_value() ? support_unless(refusal(*can.rdma)) : support_if(false, can.no_rdma);
}

constexpr std::array<Capability, 16> known{{
    {"dma", [](const DeviceInfo& i) { return support_if(i.capabilities().dma.has_value(), "it has no DMA engine"); }},
    {"comch_server",
     [](const DeviceInfo& i) {
       return has_comch<&ComchCapabilities::server>(i, "only functions of the DPU are servers");
     }},
    {"comch_client",
     [](const DeviceInfo& i) {
       return has_comch<&ComchCapabilities::client>(i, "only functions of the host are clients");
     }},
    {"mmap_export_pci",
     [](const DeviceInfo& i) { return has<&Capabilities::mmap_export_pci>(i, "it exports no memory over PCIe"); }},
    {"mmap_create_from_export_pci",
     [](const DeviceInfo& i) {
       return has<&Capabilities::mmap_create_from_export_pci>(i, "only functions of the DPU import memory over PCIe");
     }},
    {"mmap_export_rdma",
     [](const DeviceInfo& i) {
       return has<&Capabilities::mmap_export_rdma>(i, "it exports no memory to network peers");
     }},
    {"rdma", [](const DeviceInfo& i) { return has_rdma(i, [](const RdmaCapabilities&) { return ""; }); }},
    {"rdma_connection_manager",
     [](const DeviceInfo& i) {
       return has_rdma(i, [](const RdmaCapabilities& can) -> std::string_view { return can.no_connection_manager; });
     }},
    {"rdma_atomics",
     [](const DeviceInfo& i) {
       return has_rdma(i, [](const RdmaCapabilities& can) -> std::string_view {
         return can.no_opcode[static_cast<std::size_t>(RdmaTaskKind::atomic_fetch_add)];
       });
     }},
    {"representors",
     [](const DeviceInfo& i) {
       return has<&Capabilities::rep_filter_all>(i, "only physical functions of the DPU have representors");
     }},
    {"sync_event",
     [](const DeviceInfo& i) { return support_if(i.capabilities().sync_event.has_value(), "it has no sync events"); }},
    {"sync_event_export_to_remote_pci",
     [](const DeviceInfo& i) {
       return has_sync_event<&SyncEventCapabilities::export_to_remote_pci>(i, "it exports no sync events over PCIe");
     }},
    {"sync_event_create_from_export",
     [](const DeviceInfo& i) {
       return has_sync_event<&SyncEventCapabilities::create_from_export>(i, "it imports no sync events over PCIe");
     }},
    {"sync_event_export_to_remote_net",
     [](const DeviceInfo& i) {
       return has_sync_event<&SyncEventCapabilities::export_to_remote_net>(
           i, "it exports no sync events to network peers");
     }},
    {"sync_event_remote_net_create_from_export",
     [](const DeviceInfo& i) {
       return has_sync_event<&SyncEventCapabilities::remote_net_create_from_export>(
           i, "it imports no sync events of network peers");
     }},
    {"async_sync_event_wait",
     [](const DeviceInfo& i) {
       return has_sync_event<&SyncEventCapabilities::async_wait>(
           i, "asynchronous waits need a BlueField-3, a ConnectX-7 or newer");
     }},
}};

}  // namespace

std::span<const Capability> capabilities() noexcept { return known; }

const Capability& find_capability(std::string_view name) {
  std::string names;
  for (const Capability& capability : known) {
    if (capability.name == name) {
      return capability;
    }
    names += names.empty() ? "" : ", ";
    names += capability.name;
  }
  throw Error(Status::invalid_value, detail::concat("\"", name, "\" is not a capability; there are: ", names));
}

}  // namespace pydoca
