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
  visit("max_buf_size", &DmaCapabilities::max_buf_size, "The most bytes that one task can copy.");
  visit("max_buf_list_len", &DmaCapabilities::max_buf_list_len, "The most elements of a list of bufs; 1: no lists.");
  visit("max_num_tasks", &DmaCapabilities::max_num_tasks, "The most tasks that a context can have.");
}

template <class Visit>
void each_field(std::type_identity<ShaCapabilities>, const Visit& visit) {
  visit("sha1", &ShaCapabilities::sha1, "Whether it computes SHA-1.");
  visit("sha256", &ShaCapabilities::sha256, "Whether it computes SHA-256.");
  visit("sha512", &ShaCapabilities::sha512, "Whether it computes SHA-512.");
  visit("max_src_buf_size", &ShaCapabilities::max_src_buf_size, "Bytes that one task can hash.");
  visit("max_list_buf_num_elem", &ShaCapabilities::max_list_buf_num_elem, "Elements of a source; 1: no lists.");
  visit("max_num_tasks", &ShaCapabilities::max_num_tasks, "Tasks that a context can have.");
}

template <class Visit>
void each_field(std::type_identity<ComchCapabilities>, const Visit& visit) {
  visit("server", &ComchCapabilities::server, "Whether the function can be a server.");
  visit("client", &ComchCapabilities::client, "Whether the function can be a client.");
  visit("max_name_len", &ComchCapabilities::max_name_len,
        "The most bytes of a server's name, with the NUL that ends it.");
  visit("max_msg_size", &ComchCapabilities::max_msg_size, "The most bytes of a message.");
  visit("max_recv_queue_size", &ComchCapabilities::max_recv_queue_size,
        "The most messages that can wait to be received, on one connection.");
  visit("max_clients", &ComchCapabilities::max_clients, "The most clients that one server can have.");
  visit("max_send_tasks", &ComchCapabilities::max_send_tasks,
        "The most send tasks that a server or a client can have.");
}

template <class Visit>
void each_field(std::type_identity<SyncEventCapabilities>, const Visit& visit) {
  visit("export_to_remote_pci", &SyncEventCapabilities::export_to_remote_pci,
        "Whether its events can be exported to the other side of its PCIe link.");
  visit("create_from_export", &SyncEventCapabilities::create_from_export,
        "Whether it can import events of the other side.");
  visit("export_to_remote_net", &SyncEventCapabilities::export_to_remote_net,
        "Whether its events can be exported to network peers.");
  visit("remote_net_create_from_export", &SyncEventCapabilities::remote_net_create_from_export,
        "Whether it can import events of network peers.");
  visit("async_wait", &SyncEventCapabilities::async_wait, "Whether a context can have wait tasks.");
  visit("max_num_tasks", &SyncEventCapabilities::max_num_tasks, "The most tasks of each kind that a context can have.");
}

template <class Visit>
void each_field(std::type_identity<RdmaCapabilities>, const Visit& visit) {
  visit("max_send_queue_size", &RdmaCapabilities::max_send_queue_size, "The most tasks in flight on one connection.");
  visit("max_recv_queue_size", &RdmaCapabilities::max_recv_queue_size,
        "The most receives that a context can have posted.");
  visit("max_send_buf_list_len", &RdmaCapabilities::max_send_buf_list_len,
        "The most elements of a list that a task sends or reads into.");
  visit("max_recv_buf_list_len", &RdmaCapabilities::max_recv_buf_list_len,
        "The most elements of a list that a task receives into.");
  visit("max_message_size", &RdmaCapabilities::max_message_size, "The most bytes of a message, a read or a write.");
  visit("max_num_connections", &RdmaCapabilities::max_num_connections, "The most connections that a context can have.");
  visit("max_mtu", &RdmaCapabilities::max_mtu, "The most bytes of a packet: 256, 512, 1024, 2048 or 4096.");
  visit("default_gid_index", &RdmaCapabilities::default_gid_index,
        "The default index in the GID table: the entry that reaches most peers.");
}

template <class Visit>
void each_field(std::type_identity<Capabilities>, const Visit& visit) {
  visit("dma", &Capabilities::dma, "The limits of its DMA engine, a DmaCapabilities, or None.");
  visit("sha", &Capabilities::sha, "The limits of its SHA engine, a ShaCapabilities, or None.");
  visit("comch", &Capabilities::comch, "The limits of its comch, a ComchCapabilities, or None.");
  visit("sync_event", &Capabilities::sync_event, "The limits of its sync events, a SyncEventCapabilities, or None.");
  visit("rdma", &Capabilities::rdma, "The limits of its RDMA, an RdmaCapabilities, or None.");
  visit("mmap_export_pci", &Capabilities::mmap_export_pci,
        "Whether its memory maps can be exported to the other side of its PCIe link.");
  visit("mmap_create_from_export_pci", &Capabilities::mmap_create_from_export_pci,
        "Whether it can import memory maps of the other side.");
  visit("mmap_export_rdma", &Capabilities::mmap_export_rdma,
        "Whether its memory maps can be exported to network peers.");
  visit("rep_filter_all", &Capabilities::rep_filter_all, "Whether it can list representors of every kind.");
  visit("rep_filter_net", &Capabilities::rep_filter_net, "Whether it can list representors of network functions.");
  visit("rep_filter_emulated", &Capabilities::rep_filter_emulated,
        "Whether it can list representors of emulated functions.");
  visit("hotplug_manager", &Capabilities::hotplug_manager, "Whether it can plug in emulated functions.");
}

template <class Visit>
void each_field(std::type_identity<DeviceProperties>, const Visit& visit) {
  visit("name", &DeviceProperties::name);
  visit("pci_addr", &DeviceProperties::pci_addr);
  visit("func_type", &DeviceProperties::func_type);
  visit("side", &DeviceProperties::side);
  visit("profile", &DeviceProperties::profile);
  visit("iface_name", &DeviceProperties::iface_name);
  visit("ibdev_name", &DeviceProperties::ibdev_name);
  visit("vuid", &DeviceProperties::vuid);
  visit("vhca_id", &DeviceProperties::vhca_id);
  visit("active_rate", &DeviceProperties::active_rate);
  visit("mac_addr", &DeviceProperties::mac_addr);
  visit("ipv4_addr", &DeviceProperties::ipv4_addr);
  visit("ipv6_addr", &DeviceProperties::ipv6_addr);
  visit("lid", &DeviceProperties::lid);
  visit("sf_index", &DeviceProperties::sf_index);
  visit("capabilities", &DeviceProperties::capabilities);
}

template <class Visit>
void each_field(std::type_identity<RepresentorProperties>, const Visit& visit) {
  visit("name", &RepresentorProperties::name, "Unique on its DPU device, such as \"pf0hpf\".");
  visit("pci_addr", &RepresentorProperties::pci_addr,
        "The address of the represented function on its own side, in the long form; for an SF, that of its parent "
        "function.");
  visit("func_type", &RepresentorProperties::func_type, "The type of the represented function: PF, VF or SF.");
  visit("vuid", &RepresentorProperties::vuid, "The represented function's unique identifier.");
  visit("iface_name", &RepresentorProperties::iface_name, "The representor's network interface.");
  visit("vhca_id", &RepresentorProperties::vhca_id, "The card's number for the represented function.");
  visit("is_hotplug", &RepresentorProperties::is_hotplug,
        "Whether the function was plugged in while the machine was running.");
  visit("is_emulated", &RepresentorProperties::is_emulated, "Whether the DPU emulates the function in software.");
}

template <class Visit>
void each_field(std::type_identity<sim::Function>, const Visit& visit) {
  visit("parent", &sim::Function::parent);
  visit("representor", &sim::Function::representor);
  visit("is_emulated", &sim::Function::is_emulated);
  visit("is_hotplug", &sim::Function::is_hotplug);
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

}  // namespace pydoca::bindings
