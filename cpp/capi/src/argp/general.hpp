/// The flags that every program has.
#pragma once

#include "argp/flag.hpp"

#include <array>
#include <cstddef>

namespace pydoca::capi::argp {

enum class General : std::size_t { help, version, log_level, sdk_log_level, json };
inline constexpr std::size_t num_general = 5;

const std::array<Flag, num_general>& general_flags();

inline const Flag& general(General which) { return general_flags()[static_cast<std::size_t>(which)]; }
bool is_general(const Flag& flag);

}  // namespace pydoca::capi::argp
