#include "pydoca/rdma.hpp"

#include "detail/concat.hpp"

#include <arpa/inet.h>

namespace pydoca {

namespace {

constexpr std::size_t ipv4_offset = 12;  ///< where the raw address has an IPv4 address

constexpr std::string_view name_of(RdmaAddressType type) noexcept {
  constexpr std::string_view names[] = {"an IPv4", "an IPv6", "a GID"};
  return names[static_cast<std::size_t>(type)];
}

bool parse(RdmaAddressType type, const std::string& text, Gid& raw) noexcept {
  return type == RdmaAddressType::ipv4 ? ::inet_pton(AF_INET, text.c_str(), raw.data() + ipv4_offset) == 1
                                       : ::inet_pton(AF_INET6, text.c_str(), raw.data()) == 1;
}

}  // namespace

RdmaAddress RdmaAddress::create(RdmaAddressType type, std::string_view address, std::uint16_t port) {
  if (type > RdmaAddressType::gid) {
    throw Error(Status::invalid_value, detail::concat("address type ", static_cast<unsigned>(type), " is not in 0..2"));
  }
  Gid raw{};
  if (address.find('\0') != std::string_view::npos || !parse(type, std::string(address), raw)) {
    throw Error(Status::invalid_value, detail::concat("\"", address.substr(0, address.find('\0')), "\" is not ",
                                                      name_of(type), " address in digits"));
  }
  if (port == 0) {
    throw Error(Status::invalid_value,
                detail::concat("address ", address, ": port 0 cannot be used; ports are 1..65535"));
  }
  return {type, raw, port};
}

std::string RdmaAddress::address() const {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const bool ipv4 = type_ == RdmaAddressType::ipv4;
  ::inet_ntop(ipv4 ? AF_INET : AF_INET6, raw_.data() + (ipv4 ? ipv4_offset : 0), text.data(), text.size());
  return text.data();
}

}  // namespace pydoca
