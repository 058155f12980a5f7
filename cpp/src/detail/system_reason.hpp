#pragma once

#include <string>

namespace pydoca::detail {

/// What an error number of the system means, and what to do where a limit of this process is the cause. It ends a
/// message.
std::string system_reason(int error);

}  // namespace pydoca::detail
