#pragma once

#include "pydoca/backend/rdma.hpp"
#include "pydoca/types.hpp"

#include <netinet/in.h>
#include <string>

namespace pydoca::verbs {

/// An address as sockets have it.
class SocketAddress {
 public:
  /// A GID that holds an IPv4 address is that address. iface is needed for link-local addresses.
  SocketAddress(const Gid& address, std::uint16_t port, const std::string& iface);

  sockaddr* get() noexcept { return &storage_.any; }
  bool is_ipv4() const noexcept { return storage_.any.sa_family == AF_INET; }

 private:
  union {
    sockaddr any;
    sockaddr_in v4;
    sockaddr_in6 v6;
  } storage_{};
};

/// An address as a GID; an IPv4 address becomes a mapped one.
Gid gid_of(const backend::RdmaAddress& address) noexcept;
backend::RdmaAddress address_of(const sockaddr& address) noexcept;

}  // namespace pydoca::verbs
