#include "fuzz/target.hpp"

namespace pydoca::fuzz {

std::span<const Target> capi_targets() { return {}; }

}  // namespace pydoca::fuzz
