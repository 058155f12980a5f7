#pragma once

#include "argp/value.hpp"

#include <vector>

namespace pydoca::capi::argp {

/// Whether the flags may stand together, given in a file and on the command line. Throws invalid_value for one that is
/// repeated or must stand alone, and initialization when a flag or a command is missing.
void require_complete(const Chain& chain, const std::vector<Given>& given);

/// Throws invalid_value for a flag that is given several times in one place, and may not be.
void require_once(const std::vector<Given>& given);

}  // namespace pydoca::capi::argp
