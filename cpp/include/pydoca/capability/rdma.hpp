#pragma once

#include "pydoca/capability/field.hpp"
#include "pydoca/rdma_tasks.hpp"
#include "pydoca/types.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#pragma GCC visibility push(default)

namespace pydoca {

/// A refusal says why the device lacks something ("rxe0 has no atomics"). It is empty where the device has it.
struct RdmaCapabilities {
  std::uint32_t max_send_queue_size = 0;    ///< tasks, except receives, in flight on one connection
  std::uint32_t max_recv_queue_size = 0;    ///< receives in flight in one context
  std::uint32_t max_send_buf_list_len = 0;  ///< elements
  std::uint32_t max_recv_buf_list_len = 0;  ///< elements
  std::uint32_t max_message_size = 0;       ///< bytes
  std::uint16_t max_num_connections = 0;
  MtuSize max_mtu = MtuSize::bytes_4096;
  std::uint32_t gid_table_size = 0;                        ///< entries
  std::vector<Gid> gids;                                   ///< the first entries, to the last that is set; never empty
  std::uint32_t default_gid_index = 0;                     ///< the one that reaches most peers
  std::array<std::string, num_rdma_task_kinds> no_opcode;  ///< refusals, by RdmaTaskKind
  std::string no_connection_manager;                       ///< refusal of connecting by address
  std::string no_dynamically_connected;                    ///< refusal of transport DC

  static constexpr const char* name = "RdmaCapabilities";
  static constexpr const char* says =
      "The limits of a device's RDMA: queues and lists in numbers, messages and packets (max_mtu) in bytes.";
  static constexpr auto fields() noexcept {
    using T = RdmaCapabilities;
    return std::tuple{
        Field{"max_send_queue_size", &T::max_send_queue_size, "The most tasks in flight on one connection."},
        Field{"max_recv_queue_size", &T::max_recv_queue_size, "The most receives that a context can have posted."},
        Field{"max_send_buf_list_len", &T::max_send_buf_list_len,
              "The most elements of a list that a task sends or reads into."},
        Field{"max_recv_buf_list_len", &T::max_recv_buf_list_len,
              "The most elements of a list that a task receives into."},
        Field{"max_message_size", &T::max_message_size, "The most bytes of a message, a read or a write."},
        Field{"max_num_connections", &T::max_num_connections, "The most connections that a context can have."},
        Field{"max_mtu", &T::max_mtu, "The most bytes of a packet: 256, 512, 1024, 2048 or 4096."},
        Field{"default_gid_index", &T::default_gid_index,
              "The default index in the GID table: the entry that reaches most peers."}};
  }
};

}  // namespace pydoca

#pragma GCC visibility pop
