#pragma once

#include "pydoca/backend.hpp"

#include <cstddef>

namespace pydoca::detail {

/// Whether the device of this ordinal has registered the memory of segment and of all that follow it.
inline bool reaches(const backend::Segment* segment, std::size_t ordinal) noexcept {
  for (; segment != nullptr; segment = segment->next) {
    if (segment->regions[ordinal] == nullptr) {
      return false;
    }
  }
  return true;
}

}  // namespace pydoca::detail
