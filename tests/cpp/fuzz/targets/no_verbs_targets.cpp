#include "fuzz/target.hpp"

namespace pydoca::fuzz {

std::span<const Target> verbs_targets() { return {}; }

}  // namespace pydoca::fuzz
