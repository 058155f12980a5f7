#include "pydoca/capabilities.hpp"

#include "pydoca/device_properties.hpp"

#include "detail/concat.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <tuple>
#include <utility>
#include <vector>

namespace pydoca {

namespace {

Support support_if(bool supported, std::string_view reason) {
  return {.supported = supported, .reason = supported ? std::string() : std::string(reason)};
}

/// Tells the support by a refusal, which is empty where there is none.
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

constexpr std::array others{
    Capability{"comch_server",
               [](const DeviceInfo& i) {
                 return has_comch<&ComchCapabilities::server>(i, &Refusals::comch_server, "it takes no comch clients");
               }},
    Capability{"comch_client",
               [](const DeviceInfo& i) {
                 return has_comch<&ComchCapabilities::client>(i, &Refusals::comch_client,
                                                              "it connects to no comch servers");
               }},
    Capability{"mmap_export_pci",
               [](const DeviceInfo& i) {
                 return has<&Capabilities::mmap_export_pci>(i, &Refusals::mmap_export_pci,
                                                            "it exports no memory over PCIe");
               }},
    Capability{"mmap_create_from_export_pci",
               [](const DeviceInfo& i) {
                 return has<&Capabilities::mmap_create_from_export_pci>(i, &Refusals::mmap_create_from_export_pci,
                                                                        "it imports no memory over PCIe");
               }},
    Capability{"mmap_export_rdma",
               [](const DeviceInfo& i) {
                 return has<&Capabilities::mmap_export_rdma>(i, &Refusals::mmap_export_rdma,
                                                             "it exports no memory to network peers");
               }},
    Capability{"mmap_dmabuf",
               [](const DeviceInfo&) { return support_if(false, "it takes no memory of another driver (DMA-BUF)"); }},
    Capability{"rdma", [](const DeviceInfo& i) { return has_rdma(i, [](const RdmaCapabilities&) { return ""; }); }},
    Capability{"rdma_connection_manager",
               [](const DeviceInfo& i) {
                 return has_rdma(
                     i, [](const RdmaCapabilities& can) -> std::string_view { return can.no_connection_manager; });
               }},
    Capability{"rdma_atomics",
               [](const DeviceInfo& i) {
                 return has_rdma(i, [](const RdmaCapabilities& can) -> std::string_view {
                   return can.no_opcode[static_cast<std::size_t>(RdmaTaskKind::atomic_fetch_add)];
                 });
               }},
    Capability{"representors",
               [](const DeviceInfo& i) {
                 return has<&Capabilities::rep_filter_all>(i, &Refusals::representors, "it has no representors");
               }},
    Capability{"sync_event_export_to_remote_pci",
               [](const DeviceInfo& i) {
                 return has_sync_event<&SyncEventCapabilities::export_to_remote_pci>(
                     i, &Refusals::sync_event_pci, "it exports no sync events over PCIe");
               }},
    Capability{"sync_event_create_from_export",
               [](const DeviceInfo& i) {
                 return has_sync_event<&SyncEventCapabilities::create_from_export>(
                     i, &Refusals::sync_event_pci, "it imports no sync events over PCIe");
               }},
    Capability{"sync_event_export_to_remote_net",
               [](const DeviceInfo& i) {
                 return has_sync_event<&SyncEventCapabilities::export_to_remote_net>(
                     i, &Refusals::sync_event_net, "it exports no sync events to network peers");
               }},
    Capability{"sync_event_remote_net_create_from_export",
               [](const DeviceInfo& i) {
                 return has_sync_event<&SyncEventCapabilities::remote_net_create_from_export>(
                     i, &Refusals::sync_event_net, "it imports no sync events of network peers");
               }},
    Capability{"sync_event_export_to_dpa",
               [](const DeviceInfo& i) {
                 return has_sync_event<&SyncEventCapabilities::export_to_dpa>(i, &Refusals::dpa,
                                                                              "it gives no sync events to a DPA");
               }},
    Capability{"async_sync_event_wait",
               [](const DeviceInfo& i) {
                 return has_sync_event<&SyncEventCapabilities::async_wait>(i, &Refusals::async_wait,
                                                                           "it has no asynchronous waits");
               }},
};

constexpr auto libraries = LibraryCapabilities::fields();

/// The support of a library whose absence alone decides.
template <std::size_t number>
Support has_library(const DeviceInfo& info) {
  constexpr auto library = std::get<number>(libraries);
  return support_of(info, (info.capabilities().*library.member).has_value(), library.refusal, library.lack);
}

template <std::size_t number>
constexpr auto capability_of() {
  constexpr auto library = std::get<number>(libraries);
  if constexpr (library.lack != nullptr) {
    return std::array{Capability{library.name, &has_library<number>}};
  } else {
    return std::array<Capability, 0>{};
  }
}

template <std::size_t... sizes>
constexpr auto joined(const std::array<Capability, sizes>&... lists) {
  std::array<Capability, (sizes + ...)> all{};
  std::size_t size = 0;
  const auto add = [&](const auto& list) {
    for (const Capability& capability : list) {
      all[size++] = capability;
    }
  };
  (add(lists), ...);
  return all;
}

template <std::size_t... number>
constexpr auto all(std::index_sequence<number...> /*of libraries*/) {
  return joined(capability_of<number>()..., others);
}

constexpr auto known = all(std::make_index_sequence<std::tuple_size_v<decltype(libraries)>>());

}  // namespace

std::span<const Capability> capabilities() noexcept { return known; }

const Capability& find_capability(std::string_view name) {
  if (const auto* const found = std::ranges::find(known, name, &Capability::name); found != known.end()) {
    return *found;
  }
  std::vector<std::string_view> names;
  for (const Capability& capability : known) {
    names.push_back(capability.name);
  }
  throw Error(Status::invalid_value,
              detail::concat("\"", name, "\" is not a capability; there are: ", detail::listed(names)));
}

}  // namespace pydoca
