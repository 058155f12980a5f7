#pragma once

#include "pydoca/capability/field.hpp"

#include <cstdint>
#include <tuple>

#pragma GCC visibility push(default)

namespace pydoca {

struct ComchCapabilities {
  bool server = false;
  bool client = false;
  std::uint32_t max_name_len = 0;         ///< bytes, including the terminating NUL
  std::uint32_t max_msg_size = 0;         ///< bytes
  std::uint32_t max_recv_queue_size = 0;  ///< messages
  std::uint32_t max_clients = 0;          ///< clients that one server takes
  std::uint32_t max_send_tasks = 0;       ///< the limit of one context

  static constexpr const char* name = "ComchCapabilities";
  static constexpr const char* says =
      "Whether a function can be a comch server or a client, and the limits: lengths in bytes (the name's\nwith its "
      "NUL), queues and clients in numbers.";
  static constexpr auto fields() noexcept {
    using T = ComchCapabilities;
    return std::tuple{
        Field{"server", &T::server, "Whether the function can be a server."},
        Field{"client", &T::client, "Whether the function can be a client."},
        Field{"max_name_len", &T::max_name_len, "The most bytes of a server's name, with the NUL that ends it."},
        Field{"max_msg_size", &T::max_msg_size, "The most bytes of a message."},
        Field{"max_recv_queue_size", &T::max_recv_queue_size,
              "The most messages that can wait to be received, on one connection."},
        Field{"max_clients", &T::max_clients, "The most clients that one server can have."},
        Field{"max_send_tasks", &T::max_send_tasks, "The most send tasks that a server or a client can have."}};
  }
};

}  // namespace pydoca

#pragma GCC visibility pop
