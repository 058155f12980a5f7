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

using Reason = std::string Refusals::*;

/// Without a reason of the backend's, otherwise is the reason.
Support support_of(const DeviceInfo& info, bool supported, Reason reason, std::string_view otherwise) {
  const std::string& refusal = info.capabilities().refusals.*reason;
  return support_if(supported, refusal.empty() ? otherwise : refusal);
}

template <bool Capabilities::* field>
Support has(const DeviceInfo& info, Reason reason, std::string_view otherwise) {
  return support_of(info, info.capabilities().*field, reason, otherwise);
}

template <bool ComchCapabilities::* field>
Support has_comch(const DeviceInfo& info, Reason reason, std::string_view otherwise) {
  const auto& comch = info.capabilities().comch;
  return support_of(info, comch.has_value() && (*comch).*field, reason,
                    comch.has_value() ? otherwise : "it has no comch");
}

template <bool SyncEventCapabilities::* field>
Support has_sync_event(const DeviceInfo& info, Reason reason, std::string_view otherwise) {
  const auto& events = info.capabilities().sync_event;
  return events.has_value() ? support_of(info, (*events).*field, reason, otherwise)
                            : support_of(info, false, &Refusals::sync_event, "it has no sync events");
}

template <class Refusal>
Support has_rdma(const DeviceInfo& info, Refusal refusal) {
  const Capabilities& can = info.capabilities();
  return can.rdma.has_value() ? support_unless(refusal(*can.rdma)) : support_if(false, can.no_rdma);
}

constexpr std::array<Capability, 22> known{{
    {"dma",
     [](const DeviceInfo& i) {
       return support_of(i, i.capabilities().dma.has_value(), &Refusals::dma, "it has no DMA engine");
     }},
    {"comch_server",
     [](const DeviceInfo& i) {
       return has_comch<&ComchCapabilities::server>(i, &Refusals::comch_server, "it takes no comch clients");
     }},
    {"comch_client",
     [](const DeviceInfo& i) {
       return has_comch<&ComchCapabilities::client>(i, &Refusals::comch_client, "it connects to no comch servers");
     }},
    {"sha",
     [](const DeviceInfo& i) {
       return support_of(i, i.capabilities().sha.has_value(), &Refusals::sha, "it has no SHA engine");
     }},
    {"mmap_export_pci",
     [](const DeviceInfo& i) {
       return has<&Capabilities::mmap_export_pci>(i, &Refusals::mmap_export_pci, "it exports no memory over PCIe");
     }},
    {"mmap_create_from_export_pci",
     [](const DeviceInfo& i) {
       return has<&Capabilities::mmap_create_from_export_pci>(i, &Refusals::mmap_create_from_export_pci,
                                                              "it imports no memory over PCIe");
     }},
    {"mmap_export_rdma",
     [](const DeviceInfo& i) {
       return has<&Capabilities::mmap_export_rdma>(i, &Refusals::mmap_export_rdma,
                                                   "it exports no memory to network peers");
     }},
    {"mmap_dmabuf",
     [](const DeviceInfo&) { return support_if(false, "it takes no memory of another driver (DMA-BUF)"); }},
    {"mmap_advise",
     [](const DeviceInfo& i) {
       return support_of(i, i.capabilities().mmap_advise.has_value(), &Refusals::mmap_advise,
                         "it invalidates no cache");
     }},
    {"clock",
     [](const DeviceInfo& i) {
       return support_of(i, i.capabilities().clock.has_value(), &Refusals::clock, "it has no clock");
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
       return has<&Capabilities::rep_filter_all>(i, &Refusals::representors, "it has no representors");
     }},
    {"sync_event",
     [](const DeviceInfo& i) {
       return support_of(i, i.capabilities().sync_event.has_value(), &Refusals::sync_event, "it has no sync events");
     }},
    {"sync_event_export_to_remote_pci",
     [](const DeviceInfo& i) {
       return has_sync_event<&SyncEventCapabilities::export_to_remote_pci>(i, &Refusals::sync_event_pci,
                                                                           "it exports no sync events over PCIe");
     }},
    {"sync_event_create_from_export",
     [](const DeviceInfo& i) {
       return has_sync_event<&SyncEventCapabilities::create_from_export>(i, &Refusals::sync_event_pci,
                                                                         "it imports no sync events over PCIe");
     }},
    {"sync_event_export_to_remote_net",
     [](const DeviceInfo& i) {
       return has_sync_event<&SyncEventCapabilities::export_to_remote_net>(
           i, &Refusals::sync_event_net, "it exports no sync events to network peers");
     }},
    {"sync_event_remote_net_create_from_export",
     [](const DeviceInfo& i) {
       return has_sync_event<&SyncEventCapabilities::remote_net_create_from_export>(
           i, &Refusals::sync_event_net, "it imports no sync events of network peers");
     }},
    {"sync_event_export_to_dpa",
     [](const DeviceInfo& i) {
       return has_sync_event<&SyncEventCapabilities::export_to_dpa>(i, &Refusals::dpa,
                                                                    "it gives no sync events to a DPA");
     }},
    {"dpa",
     [](const DeviceInfo& i) {
       return support_of(i, i.capabilities().dpa.has_value(), &Refusals::dpa, "it has no DPA");
     }},
    {"async_sync_event_wait",
     [](const DeviceInfo& i) {
       return has_sync_event<&SyncEventCapabilities::async_wait>(i, &Refusals::async_wait,
                                                                 "it has no asynchronous waits");
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
