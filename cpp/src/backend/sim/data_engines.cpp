#include "backend/sim/cache/cache_queue.hpp"
#include "backend/sim/compress/inflate_queue.hpp"
#include "backend/sim/copy/copy_queue.hpp"
#include "backend/sim/sha/hash_queue.hpp"
#include "backend/sim/work/data_engine.hpp"

#include <array>

namespace pydoca::sim {

std::span<const DataEngine* const> data_engines() noexcept {
  static constexpr std::array engines{&copy_engine, &hash_engine, &cache_engine, &inflate_engine};
  static_assert(engines.size() <= max_data_engines);
  return engines;
}

}  // namespace pydoca::sim
