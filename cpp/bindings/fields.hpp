/// The fields of what a backend says about functions, by name: one list of them for properties, dictionaries and
/// topologies.
#pragma once

#include <pydoca/backend.hpp>
#include <pydoca/sim.hpp>

#include "convert.hpp"
#include "parse.hpp"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <optional>
#include <type_traits>

namespace pydoca::bindings {

/// Calls visit("name", &T::field) for every field of T.
template <class Visit>
void each_field(std::type_identity<backend::DmaCapabilities>, const Visit& visit) {
  visit("max_buf_size", &backend::DmaCapabilities::max_buf_size);
  visit("max_buf_list_len", &backend::DmaCapabilities::max_buf_list_len);
  visit("max_num_tasks", &backend::DmaCapabilities::max_num_tasks);
}

template <class Visit>
void each_field(std::type_identity<backend::ComchCapabilities>, const Visit& visit) {
  visit("server", &backend::ComchCapabilities::server);
  visit("client", &backend::ComchCapabilities::client);
  visit("max_name_len", &backend::ComchCapabilities::max_name_len);
  visit("max_msg_size", &backend::ComchCapabilities::max_msg_size);
  visit("max_recv_queue_size", &backend::ComchCapabilities::max_recv_queue_size);
  visit("max_clients", &backend::ComchCapabilities::max_clients);
  visit("max_send_tasks", &backend::ComchCapabilities::max_send_tasks);
}

template <class Visit>
void each_field(std::type_identity<backend::SyncEventCapabilities>, const Visit& visit) {
  visit("export_to_remote_pci", &backend::SyncEventCapabilities::export_to_remote_pci);
  visit("create_from_export", &backend::SyncEventCapabilities::create_from_export);
  visit("export_to_remote_net", &backend::SyncEventCapabilities::export_to_remote_net);
  visit("remote_net_create_from_export", &backend::SyncEventCapabilities::remote_net_create_from_export);
  visit("async_wait", &backend::SyncEventCapabilities::async_wait);
  visit("max_num_tasks", &backend::SyncEventCapabilities::max_num_tasks);
}

template <class Visit>
void each_field(std::type_identity<backend::RdmaCapabilities>, const Visit& visit) {
  visit("max_send_queue_size", &backend::RdmaCapabilities::max_send_queue_size);
  visit("max_recv_queue_size", &backend::RdmaCapabilities::max_recv_queue_size);
  visit("max_send_buf_list_len", &backend::RdmaCapabilities::max_send_buf_list_len);
  visit("max_recv_buf_list_len", &backend::RdmaCapabilities::max_recv_buf_list_len);
  visit("max_message_size", &backend::RdmaCapabilities::max_message_size);
  visit("max_num_connections", &backend::RdmaCapabilities::max_num_connections);
  visit("max_mtu", &backend::RdmaCapabilities::max_mtu);
  visit("default_gid_index", &backend::RdmaCapabilities::default_gid_index);
}

template <class Visit>
void each_field(std::type_identity<backend::Capabilities>, const Visit& visit) {
  visit("dma", &backend::Capabilities::dma);
  visit("comch", &backend::Capabilities::comch);
  visit("sync_event", &backend::Capabilities::sync_event);
  visit("rdma", &backend::Capabilities::rdma);
  visit("mmap_export_pci", &backend::Capabilities::mmap_export_pci);
  visit("mmap_create_from_export_pci", &backend::Capabilities::mmap_create_from_export_pci);
  visit("mmap_export_rdma", &backend::Capabilities::mmap_export_rdma);
  visit("rep_filter_all", &backend::Capabilities::rep_filter_all);
  visit("rep_filter_net", &backend::Capabilities::rep_filter_net);
  visit("rep_filter_emulated", &backend::Capabilities::rep_filter_emulated);
  visit("hotplug_manager", &backend::Capabilities::hotplug_manager);
}

template <class Visit>
void each_field(std::type_identity<backend::DeviceProperties>, const Visit& visit) {
  visit("name", &backend::DeviceProperties::name);
  visit("pci_addr", &backend::DeviceProperties::pci_addr);
  visit("func_type", &backend::DeviceProperties::func_type);
  visit("side", &backend::DeviceProperties::side);
  visit("profile", &backend::DeviceProperties::profile);
  visit("iface_name", &backend::DeviceProperties::iface_name);
  visit("ibdev_name", &backend::DeviceProperties::ibdev_name);
  visit("vuid", &backend::DeviceProperties::vuid);
  visit("vhca_id", &backend::DeviceProperties::vhca_id);
  visit("active_rate", &backend::DeviceProperties::active_rate);
  visit("mac_addr", &backend::DeviceProperties::mac_addr);
  visit("ipv4_addr", &backend::DeviceProperties::ipv4_addr);
  visit("ipv6_addr", &backend::DeviceProperties::ipv6_addr);
  visit("lid", &backend::DeviceProperties::lid);
  visit("sf_index", &backend::DeviceProperties::sf_index);
  visit("capabilities", &backend::DeviceProperties::capabilities);
}

template <class Visit>
void each_field(std::type_identity<backend::RepresentorProperties>, const Visit& visit) {
  visit("name", &backend::RepresentorProperties::name);
  visit("pci_addr", &backend::RepresentorProperties::pci_addr);
  visit("func_type", &backend::RepresentorProperties::func_type);
  visit("vuid", &backend::RepresentorProperties::vuid);
  visit("iface_name", &backend::RepresentorProperties::iface_name);
  visit("vhca_id", &backend::RepresentorProperties::vhca_id);
  visit("is_hotplug", &backend::RepresentorProperties::is_hotplug);
  visit("is_emulated", &backend::RepresentorProperties::is_emulated);
}

template <class Visit>
void each_field(std::type_identity<sim::Function>, const Visit& visit) {
  visit("parent", &sim::Function::parent);
  visit("representor", &sim::Function::representor);
  visit("is_emulated", &sim::Function::is_emulated);
  visit("is_hotplug", &sim::Function::is_hotplug);
}

template <class T>
concept Fielded = requires { each_field(std::type_identity<T>(), [](const char*, auto) {}); };

template <class T>
concept HasText = requires(const T& value) { to_text(value); };

template <class T>
pybind11::object to_plain(const std::optional<T>& value);

/// Plain Python (str, int, bool, dict, None), fit for JSON.
template <class T>
pybind11::object to_plain(const T& value) {
  if constexpr (Fielded<T>) {
    pybind11::dict plain;
    each_field(std::type_identity<T>(), [&](const char* name, auto field) { plain[name] = to_plain(value.*field); });
    return plain;
  } else if constexpr (std::is_same_v<T, MtuSize>) {
    return pybind11::int_(256U << static_cast<unsigned>(value));
  } else if constexpr (HasText<T>) {
    return to_str(to_text(value));
  } else {
    return pybind11::cast(value);
  }
}

template <class T>
pybind11::object to_plain(const std::optional<T>& value) {
  return value ? to_plain(*value) : pybind11::object(pybind11::none());
}

}  // namespace pydoca::bindings
