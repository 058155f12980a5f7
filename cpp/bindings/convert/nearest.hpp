#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pydoca::bindings {

/// The one of known that word may have been meant to be; empty when none is near.
std::string nearest_to(std::string_view word, const std::vector<std::string_view>& known);

}  // namespace pydoca::bindings
