#pragma once

#include "pydoca/status.hpp"

#include "backend/sim/memory/import_protocol.hpp"
#include "backend/sim/memory/region.hpp"

#include <cstdint>

namespace pydoca::sim {

/// A word of a peer's memory in this process; null: it is not mapped here, and only its owner can change it.
std::uint64_t* word_at(const Region& region, std::uint64_t addr) noexcept;
/// Changes that word. io_failed when its owner has withdrawn the memory or is gone, or a mapped file has been cut
/// short.
Status change_word(const Region& region, std::uint64_t& word, const WordChange& change, std::uint64_t& before) noexcept;

/// Changes a word of this process. io_failed when it lies in a mapped file that has been cut short.
Status change_word_here(std::uint64_t& word, const WordChange& change, std::uint64_t& before) noexcept;

}  // namespace pydoca::sim
