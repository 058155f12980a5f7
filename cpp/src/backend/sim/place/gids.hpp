#pragma once

#include "pydoca/device_properties.hpp"
#include "pydoca/types.hpp"

#include <array>
#include <cstdint>
#include <vector>

namespace pydoca::sim {

/// The GIDs of a function: the link-local one of its MAC address, then the one that its IPv4 address maps to.
std::vector<Gid> gids_of(const DeviceProperties& properties);
/// ::ffff:a.b.c.d
Gid mapped_gid(const std::array<std::uint8_t, 4>& ipv4) noexcept;

}  // namespace pydoca::sim
