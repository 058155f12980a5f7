#include "backend/sim/place/gids.hpp"

#include "pydoca/device_properties.hpp"

#include <algorithm>

namespace pydoca::sim {

namespace {

/// The link-local address that belongs to a MAC address (EUI-64).
Gid link_local(const std::array<std::uint8_t, 6>& mac) noexcept {
  const auto first = static_cast<std::uint8_t>(mac[0] ^ 0x02U);
  return {0xfe, 0x80, 0, 0, 0, 0, 0, 0, first, mac[1], mac[2], 0xff, 0xfe, mac[3], mac[4], mac[5]};
}

/// The GID of a function without a MAC address: made of its name, so that functions differ.
std::array<std::uint8_t, 6> mac_of(const DeviceProperties& properties) noexcept {
  std::uint32_t hash = 0x811c9dc5;
  for (const char c : properties.name) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x01000193;
  }
  const auto byte = [hash](int place) { return static_cast<std::uint8_t>(hash >> (8 * place)); };
  return properties.mac_addr.value_or(std::array<std::uint8_t, 6>{0x02, static_cast<std::uint8_t>(properties.side),
                                                                  byte(3), byte(2), byte(1), byte(0)});
}

}  // namespace

Gid mapped_gid(const std::array<std::uint8_t, 4>& ipv4) noexcept {
  Gid gid{};
  gid[10] = gid[11] = 0xff;
  std::ranges::copy(ipv4, gid.begin() + 12);
  return gid;
}

std::vector<Gid> gids_of(const DeviceProperties& properties) {
  std::vector<Gid> gids{properties.ipv6_addr.value_or(link_local(mac_of(properties)))};
  if (properties.ipv4_addr.has_value()) {
    gids.push_back(mapped_gid(*properties.ipv4_addr));
  }
  return gids;
}

}  // namespace pydoca::sim
