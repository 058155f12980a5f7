#pragma once

#include "c_task.hpp"

#include <string>

namespace pydoca::capi {

/// The C++ source that defines the task functions of doca_<library>.h.
std::string definitions_of(const CLibrary& library);

}  // namespace pydoca::capi
