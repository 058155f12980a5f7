#pragma once

#include "pydoca/status.hpp"

#include "backend/sim/memory/import_protocol.hpp"
#include "backend/sim/memory/region.hpp"

#include <cstdint>

namespace pydoca::sim {

/// Changes the aligned word at change.addr of a peer's memory. io_failed when its owner has withdrawn it or is gone.
Status change_word(const Region& region, const WordChange& change, std::uint64_t& before) noexcept;

/// The same in this process; returns the value before.
std::uint64_t change_word_here(std::uint64_t& word, const WordChange& change) noexcept;

}  // namespace pydoca::sim
