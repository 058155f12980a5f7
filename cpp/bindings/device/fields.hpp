/// The names of the fields of the backends' structures: one list for properties, dictionaries and topologies.
#pragma once

#include <pydoca/device_properties.hpp>
#include <pydoca/sim.hpp>

#include "convert/convert.hpp"
#include "convert/parse.hpp"
#include "convert/pybind.hpp"

#include <pybind11/stl.h>

#include <optional>
#include <type_traits>

namespace pydoca::bindings {

/// Calls visit("name", &T::field, "docstring") for every field of T. For some T it calls visit() without docstrings.
template <class Visit>
void each_field(std::type_identity<DmaCapabilities>, const Visit& visit) {
  using T = DmaCapabilities;
  visit("max_buf_size", &T::max_buf_size, "The most bytes that one task can copy.");
  visit("max_buf_list_len", &T::max_buf_list_len, "The most elements of a list of bufs; 1: no lists.");
  visit("max_num_tasks", &T::max_num_tasks, "The most tasks that a context can have.");
}

template <class Visit>
void each_field(std::type_identity<ShaCapabilities>, const Visit& visit) {
  using T = ShaCapabilities;
  visit("sha1", &T::sha1, "Whether it computes SHA-1.");
  visit("sha256", &T::sha256, "Whether it computes SHA-256.");
  visit("sha512", &T::sha512, "Whether it computes SHA-512.");
  visit("max_src_buf_size", &T::max_src_buf_size, "Bytes that one task can hash.");
  visit("max_list_buf_num_elem", &T::max_list_buf_num_elem, "Elements of a source; 1: no lists.");
  visit("max_num_tasks", &T::max_num_tasks, "Tasks that a context can have.");
}

template <class Visit>
void each_field(std::type_identity<MmapAdviseCapabilities>, const Visit& visit) {
  using T = MmapAdviseCapabilities;
  visit("max_buf_size", &T::max_buf_size, "The most bytes of which one task can invalidate the cache.");
  visit("max_num_tasks", &T::max_num_tasks, "The most tasks that a context can have.");
}

template <class Visit>
void each_field(std::type_identity<ClockCapabilities>, const Visit& visit) {
  using T = ClockCapabilities;
  visit("nic_free_running", &T::nic_free_running, "Whether it has a counter of cycles.");
  visit("nic_real_time", &T::nic_real_time, "Whether it has a clock of the time of day.");
  visit("nic_dpa_timer", &T::nic_dpa_timer, "Whether it has a timer of the DPA.");
  visit("free_running_frequency", &T::free_running_frequency, "Cycles per second of the counter.");
}

template <class Visit>
void each_field(std::type_identity<ComchCapabilities>, const Visit& visit) {
  using T = ComchCapabilities;
  visit("server", &T::server, "Whether the function can be a server.");
  visit("client", &T::client, "Whether the function can be a client.");
  visit("max_name_len", &T::max_name_len, "The most bytes of a server's name, with the NUL that ends it.");
  visit("max_msg_size", &T::max_msg_size, "The most bytes of a message.");
  visit("max_recv_queue_size", &T::max_recv_queue_size,
        "The most messages that can wait to be received, on one connection.");
  visit("max_clients", &T::max_clients, "The most clients that one server can have.");
  visit("max_send_tasks", &T::max_send_tasks, "The most send tasks that a server or a client can have.");
}

template <class Visit>
void each_field(std::type_identity<SyncEventCapabilities>, const Visit& visit) {
  using T = SyncEventCapabilities;
  visit("export_to_remote_pci", &T::export_to_remote_pci,
        "Whether its events can be exported to the other side of its PCIe link.");
  visit("create_from_export", &T::create_from_export, "Whether it can import events of the other side.");
  visit("export_to_remote_net", &T::export_to_remote_net, "Whether its events can be exported to network peers.");
  visit("remote_net_create_from_export", &T::remote_net_create_from_export,
        "Whether it can import events of network peers.");
  visit("export_to_dpa", &T::export_to_dpa, "Whether its events can be given to its DPA.");
  visit("async_wait", &T::async_wait, "Whether a context can have wait tasks.");
  visit("max_num_tasks", &T::max_num_tasks, "The most tasks of each kind that a context can have.");
}

template <class Visit>
void each_field(std::type_identity<DpaCapabilities>, const Visit& visit) {
  visit("max_num_threads", &DpaCapabilities::max_num_threads, "The most threads that run kernels at a time.");
}

template <class Visit>
void each_field(std::type_identity<RdmaCapabilities>, const Visit& visit) {
  using T = RdmaCapabilities;
  visit("max_send_queue_size", &T::max_send_queue_size, "The most tasks in flight on one connection.");
  visit("max_recv_queue_size", &T::max_recv_queue_size, "The most receives that a context can have posted.");
  visit("max_send_buf_list_len", &T::max_send_buf_list_len,
        "The most elements of a list that a task sends or reads into.");
  visit("max_recv_buf_list_len", &T::max_recv_buf_list_len, "The most elements of a list that a task receives into.");
  visit("max_message_size", &T::max_message_size, "The most bytes of a message, a read or a write.");
  visit("max_num_connections", &T::max_num_connections, "The most connections that a context can have.");
  visit("max_mtu", &T::max_mtu, "The most bytes of a packet: 256, 512, 1024, 2048 or 4096.");
  visit("default_gid_index", &T::default_gid_index,
        "The default index in the GID table: the entry that reaches most peers.");
}

template <class Visit>
void each_field(std::type_identity<Capabilities>, const Visit& visit) {
  using T = Capabilities;
  visit("dma", &T::dma, "The limits of its DMA engine, a DmaCapabilities, or None.");
  visit("sha", &T::sha, "The limits of its SHA engine, a ShaCapabilities, or None.");
  visit("comch", &T::comch, "The limits of its comch, a ComchCapabilities, or None.");
  visit("sync_event", &T::sync_event, "The limits of its sync events, a SyncEventCapabilities, or None.");
  visit("rdma", &T::rdma, "The limits of its RDMA, an RdmaCapabilities, or None.");
  visit("mmap_advise", &T::mmap_advise,
        "The limits of the invalidation of its cache, an MmapAdviseCapabilities, or None.");
  visit("clock", &T::clock, "Its clocks, a ClockCapabilities, or None.");
  visit("dpa", &T::dpa, "The limits of its DPA, a DpaCapabilities, or None.");
  visit("mmap_export_pci", &T::mmap_export_pci,
        "Whether its memory maps can be exported to the other side of its PCIe link.");
  visit("mmap_create_from_export_pci", &T::mmap_create_from_export_pci,
        "Whether it can import memory maps of the other side.");
  visit("mmap_export_rdma", &T::mmap_export_rdma, "Whether its memory maps can be exported to network peers.");
  visit("rep_filter_all", &T::rep_filter_all, "Whether it can list representors of every kind.");
  visit("rep_filter_net", &T::rep_filter_net, "Whether it can list representors of network functions.");
  visit("rep_filter_emulated", &T::rep_filter_emulated, "Whether it can list representors of emulated functions.");
  visit("hotplug_manager", &T::hotplug_manager, "Whether it can plug in emulated functions.");
  visit("notification_moderation", &T::notification_moderation,
        "Whether it can gather notifications before it interrupts.");
  visit("accelerate_resource_reclaim", &T::accelerate_resource_reclaim,
        "Whether it can keep costly resources for a quick restart.");
}

template <class Visit>
void each_field(std::type_identity<DeviceProperties>, const Visit& visit) {
  using T = DeviceProperties;
  visit("name", &T::name, "Unique on its side, such as \"p0\".");
  visit("pci_addr", &T::pci_addr, "In the long form, 0000:03:00.0; empty for a software device such as Soft-RoCE.");
  visit("func_type", &T::func_type, "The type of the function: PF, VF or SF.");
  visit("side", &T::side, "The side of the PCIe link on which the function is: HOST or DPU.");
  visit("profile", &T::profile, "The name of the card, such as \"bluefield3\".");
  visit("iface_name", &T::iface_name, "The name of its network interface; empty when it has none.");
  visit("ibdev_name", &T::ibdev_name, "The name of its RDMA device; empty when it has none.");
  visit("vuid", &T::vuid, "The unique identifier among all functions; may be empty.");
  visit("vhca_id", &T::vhca_id, "The card's number for the function.");
  visit("active_rate", &T::active_rate, "The rate of its port in bit/s.");
  visit("mac_addr", &T::mac_addr);
  visit("ipv4_addr", &T::ipv4_addr);
  visit("ipv6_addr", &T::ipv6_addr);
  visit("lid", &T::lid);
  visit("sf_index", &T::sf_index);
  visit("capabilities", &T::capabilities, "The Capabilities of the function: its engines and their limits.");
}

template <class Visit>
void each_field(std::type_identity<RepresentorProperties>, const Visit& visit) {
  using T = RepresentorProperties;
  visit("name", &T::name, "Unique on its DPU device, such as \"hpf0\".");
  visit("pci_addr", &T::pci_addr,
        "The address of the represented function on its own side, in the long form; for an SF, that of its parent "
        "function.");
  visit("func_type", &T::func_type, "The type of the represented function: PF, VF or SF.");
  visit("vuid", &T::vuid, "The represented function's unique identifier.");
  visit("iface_name", &T::iface_name, "The representor's network interface.");
  visit("vhca_id", &T::vhca_id, "The card's number for the represented function.");
  visit("is_hotplug", &T::is_hotplug, "Whether the function was plugged in while the machine was running.");
  visit("is_emulated", &T::is_emulated, "Whether the DPU emulates the function in software.");
}

template <class Visit>
void each_field(std::type_identity<sim::Function>, const Visit& visit) {
  using T = sim::Function;
  visit("parent", &T::parent);
  visit("representor", &T::representor);
  visit("is_emulated", &T::is_emulated);
  visit("is_hotplug", &T::is_hotplug);
}

template <class T>
concept Fielded = requires { each_field(std::type_identity<T>(), [](const char*, auto, auto...) {}); };

template <class T>
concept HasText = requires(const T& value) { to_text(value); };

template <class T>
py::object to_plain(const std::optional<T>& value);

/// Plain Python (str, int, bool, dict, None), fit for JSON.
template <class T>
py::object to_plain(const T& value) {
  if constexpr (Fielded<T>) {
    py::dict plain;
    each_field(std::type_identity<T>(),
               [&](const char* name, auto field, auto...) { plain[name] = to_plain(value.*field); });
    return plain;
  } else if constexpr (std::is_same_v<T, MtuSize>) {
    return py::int_(256U << static_cast<unsigned>(value));
  } else if constexpr (HasText<T>) {
    return to_str(to_text(value));
  } else {
    return py::cast(value);
  }
}

template <class T>
py::object to_plain(const std::optional<T>& value) {
  return value ? to_plain(*value) : py::object(py::none());
}

/// Changes capabilities as a table of a topology file does. Throws invalid_value, with the nearest key, naming where.
void change_capabilities(py::handle table, Capabilities& capabilities, const std::string& where);

}  // namespace pydoca::bindings
