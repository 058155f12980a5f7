#pragma once

#include "pydoca/device_properties.hpp"
#include "pydoca/types.hpp"

#include <cstdint>
#include <string_view>

namespace pydoca::sim {

/// What a function of that side and type has of a card: only physical functions own representors. Throws invalid_value,
/// listing the profiles.
Capabilities function_capabilities(std::string_view profile, Side side, PciFuncType type);
/// The rate of a card's ports [bit/s].
std::uint64_t profile_rate(std::string_view profile) noexcept;

}  // namespace pydoca::sim
