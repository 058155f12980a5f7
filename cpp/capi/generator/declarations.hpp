#pragma once

#include "c_task.hpp"

#include <string>

namespace pydoca::capi {

/// The part of doca_<library>.h that declares the task functions.
std::string declarations_of(const CLibrary& library);

}  // namespace pydoca::capi
