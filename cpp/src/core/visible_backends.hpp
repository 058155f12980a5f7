#pragma once

#include <vector>

namespace pydoca::backend {
class Backend;
}  // namespace pydoca::backend

namespace pydoca::detail {

/// Of the built-in backends, those that the environment lets this process see. Throws invalid_value for an unknown
/// name.
std::vector<backend::Backend*> visible_backends();

}  // namespace pydoca::detail
