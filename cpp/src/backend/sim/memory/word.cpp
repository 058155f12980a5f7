#include "backend/sim/memory/word.hpp"

#include "backend/sim/memory/imported_region.hpp"

#include <atomic>
#include <unistd.h>

namespace pydoca::sim {

namespace {

/// The address of the word in this process; null: it is not mapped here.
std::uint64_t* word_at(const Region& region, std::uint64_t addr) noexcept {
  if (region.reach() != Region::Reach::foreign) {
    return reinterpret_cast<std::uint64_t*>(region.at(addr));
  }
  return region.owner_pid() == ::getpid() ? reinterpret_cast<std::uint64_t*>(addr) : nullptr;
}

}  // namespace

std::uint64_t change_word_here(std::uint64_t& word, const WordChange& change) noexcept {
  const std::atomic_ref atomic(word);
  if (change.swaps == 0) {
    return atomic.fetch_add(change.operand, std::memory_order_seq_cst);
  }
  std::uint64_t before = change.compare;
  atomic.compare_exchange_strong(before, change.operand, std::memory_order_seq_cst);
  return before;
}

Status change_word(const Region& region, const WordChange& change, std::uint64_t& before) noexcept {
  std::uint64_t* const word = word_at(region, change.addr);
  if (word == nullptr) {
    return static_cast<const ImportedRegion&>(region).ask_owner(change, before);
  }
  Gate* const gate = region.gate();
  if (gate != nullptr && !gate->enter()) {
    return Status::io_failed;
  }
  before = change_word_here(*word, change);
  if (gate != nullptr) {
    gate->leave();
  }
  return Status::success;
}

}  // namespace pydoca::sim
