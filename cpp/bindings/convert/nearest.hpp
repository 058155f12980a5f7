#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pydoca::bindings {

/// The entry of known that is most similar to word; empty when none is similar enough.
std::string nearest_to(std::string_view word, const std::vector<std::string_view>& known);

}  // namespace pydoca::bindings
