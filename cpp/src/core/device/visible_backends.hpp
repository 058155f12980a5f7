#pragma once

#include <string>
#include <vector>

namespace pydoca::backend {
class Backend;
}  // namespace pydoca::backend

namespace pydoca::detail {

/// The built-in backends that the environment lets this process see. Throws invalid_value for an unknown name.
std::vector<backend::Backend*> visible_backends();

/// Which backends of this build are absent, and why, to end a message with; empty when none is.
std::string absent_note();

}  // namespace pydoca::detail
