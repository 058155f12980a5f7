#include "pydoca/backend/engine.hpp"

#include "library/compress/compress.hpp"
#include "library/dma/dma.hpp"
#include "library/mmap_advise/mmap_advise.hpp"
#include "library/sha/sha.hpp"

#include <array>
#include <cstddef>

namespace pydoca::backend {

namespace {

constexpr std::array list{&library::dma_engine, &library::sha_engine, &library::mmap_advise_engine,
                          &library::compress_engine};

constexpr std::size_t count_opcodes() noexcept {
  std::size_t count = 0;
  for (const EngineTraits* const engine : list) {
    count += engine->opcodes.size();
  }
  return count;
}
static_assert(count_opcodes() <= max_engine_opcodes);

}  // namespace

std::span<const EngineTraits* const> engines() noexcept { return list; }

}  // namespace pydoca::backend
