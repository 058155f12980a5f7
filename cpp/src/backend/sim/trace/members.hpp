#pragma once

#include "backend/sim/fabric/socket_file.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace pydoca::sim {

/// The sockets of one purpose in a fabric's directory, some of which dead processes may have left; empty where there
/// is no directory. Throws as FabricDirectory does.
std::vector<Address> addresses_of(const std::string& fabric, std::string_view purpose);

}  // namespace pydoca::sim
