#pragma once

#include "argp/flag.hpp"

#include <string>
#include <string_view>

namespace pydoca::capi::argp {

/// The help of the level at the chain's end, with its last newline. name: that of the program.
std::string usage(std::string_view name, const Chain& chain, bool has_dpdk);

}  // namespace pydoca::capi::argp
