#include "pydoca/backend/device.hpp"

#include "backend/sim/backend.hpp"
#include "backend/verbs/backend.hpp"

#include <array>

namespace pydoca::backend {

std::span<Backend* const> backends() {
  static const std::array<Backend*, 2> list{&sim::create(), &verbs::create()};
  return list;
}

}  // namespace pydoca::backend
