#include "backend/verbs/rdma/socket_address.hpp"

#include <algorithm>
#include <cstring>
#include <net/if.h>

namespace pydoca::verbs {

namespace {

constexpr std::size_t v4_offset = 12;

bool holds_ipv4(const Gid& gid) noexcept {
  constexpr Gid mapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return std::equal(gid.begin(), gid.begin() + v4_offset, mapped.begin());
}

bool is_link_local(const Gid& gid) noexcept { return gid[0] == 0xfe && (gid[1] & 0xc0) == 0x80; }

}  // namespace

SocketAddress::SocketAddress(const Gid& address, std::uint16_t port, const std::string& iface) {
  if (holds_ipv4(address)) {
    storage_.v4.sin_family = AF_INET;
    storage_.v4.sin_port = htons(port);
    std::memcpy(&storage_.v4.sin_addr, address.data() + v4_offset, sizeof storage_.v4.sin_addr);
    return;
  }
  storage_.v6 = {};
  storage_.v6.sin6_family = AF_INET6;
  storage_.v6.sin6_port = htons(port);
  std::memcpy(&storage_.v6.sin6_addr, address.data(), sizeof storage_.v6.sin6_addr);
  storage_.v6.sin6_scope_id = is_link_local(address) ? ::if_nametoindex(iface.c_str()) : 0;
}

Gid gid_of(const backend::RdmaAddress& address) noexcept {
  Gid gid = address.raw;
  if (address.type == RdmaAddressType::ipv4) {
    std::fill(gid.begin(), gid.begin() + v4_offset, std::uint8_t{0});
    gid[10] = gid[11] = 0xff;
  }
  return gid;
}

backend::RdmaAddress address_of(const sockaddr& address) noexcept {
  backend::RdmaAddress result;
  if (address.sa_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &address, sizeof v4);
    std::memcpy(result.raw.data() + v4_offset, &v4.sin_addr, sizeof v4.sin_addr);
    result.port = ntohs(v4.sin_port);
    return result;
  }
  sockaddr_in6 v6{};
  std::memcpy(&v6, &address, sizeof v6);
  result.type = RdmaAddressType::ipv6;
  std::memcpy(result.raw.data(), &v6.sin6_addr, sizeof v6.sin6_addr);
  result.port = ntohs(v6.sin6_port);
  return result;
}

}  // namespace pydoca::verbs
