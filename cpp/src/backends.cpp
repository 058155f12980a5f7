#include "pydoca/backend.hpp"

#include "backend/sim/backend.hpp"

#include <array>

namespace pydoca::backend {

std::span<Backend* const> backends() {
  static const std::array<Backend*, 1> list{&sim::create()};
  return list;
}

}  // namespace pydoca::backend
