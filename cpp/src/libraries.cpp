#include "pydoca/backend/engine.hpp"

#include "library/dma/dma.hpp"
#include "library/mmap_advise/mmap_advise.hpp"
#include "library/sha/sha.hpp"

#include <array>

namespace pydoca::backend {

std::span<const EngineTraits* const> engines() noexcept {
  static constexpr std::array list{&library::dma_engine, &library::sha_engine, &library::mmap_advise_engine};
  return list;
}

}  // namespace pydoca::backend
