#pragma once

#include "pydoca/status.hpp"

#include "backend/sim/region.hpp"

#include <cstdint>

namespace pydoca::sim {

/// An atomic operation on eight bytes.
struct WordChange {
  bool swaps = false;         ///< compare and swap; else fetch and add
  std::uint64_t compare = 0;  ///< of a swap
  std::uint64_t operand = 0;
};

/// Changes an aligned word of a peer's memory. io_failed when its owner has withdrawn it or is gone.
Status change_word_at(const Region& region, std::uint64_t addr, const WordChange& change,
                      std::uint64_t& before) noexcept;

}  // namespace pydoca::sim
