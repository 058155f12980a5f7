#pragma once

#include "pydoca/capability/field.hpp"

#include <cstdint>
#include <tuple>

#pragma GCC visibility push(default)

namespace pydoca {

struct SyncEventCapabilities {
  bool export_to_remote_pci = false;
  bool create_from_export = false;
  bool export_to_remote_net = false;
  bool remote_net_create_from_export = false;
  bool export_to_dpa = false;
  bool async_wait = false;          ///< wait tasks: BlueField-3, ConnectX-7 and newer
  std::uint32_t max_num_tasks = 0;  ///< one context's limit for one kind

  static constexpr const char* name = "SyncEventCapabilities";
  static constexpr const char* says =
      "The places to which a function's sync events can be exported and from which they can be imported,\nwhether it "
      "has wait tasks, and how many tasks of each kind a context may have.";
  static constexpr auto fields() noexcept {
    using T = SyncEventCapabilities;
    return std::tuple{
        Field{"export_to_remote_pci", &T::export_to_remote_pci,
              "Whether its events can be exported to the other side of its PCIe link."},
        Field{"create_from_export", &T::create_from_export, "Whether it can import events of the other side."},
        Field{"export_to_remote_net", &T::export_to_remote_net, "Whether its events can be exported to network peers."},
        Field{"remote_net_create_from_export", &T::remote_net_create_from_export,
              "Whether it can import events of network peers."},
        Field{"export_to_dpa", &T::export_to_dpa, "Whether its events can be given to its DPA."},
        Field{"async_wait", &T::async_wait, "Whether a context can have wait tasks."},
        Field{"max_num_tasks", &T::max_num_tasks, "The most tasks of each kind that a context can have."}};
  }
};

}  // namespace pydoca

#pragma GCC visibility pop
