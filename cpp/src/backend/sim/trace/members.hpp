#pragma once

#include "backend/sim/fabric/socket_file.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace pydoca::sim {

/// The sockets of one purpose in a fabric's directory. Dead processes may have left some of them. Empty if the
/// directory does not exist. Throws as FabricDirectory does.
std::vector<Address> addresses_of(const std::string& fabric, std::string_view purpose);

}  // namespace pydoca::sim
