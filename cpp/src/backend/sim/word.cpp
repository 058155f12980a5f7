#include "backend/sim/word.hpp"

#include <atomic>
#include <unistd.h>

namespace pydoca::sim {

namespace {

std::uint64_t change(std::uint64_t& word, const WordChange& change) noexcept {
  const std::atomic_ref atomic(word);
  if (!change.swaps) {
    return atomic.fetch_add(change.operand, std::memory_order_seq_cst);
  }
  std::uint64_t before = change.compare;
  atomic.compare_exchange_strong(before, change.operand, std::memory_order_seq_cst);
  return before;
}

/// Where the word is in this process; null: nowhere.
std::uint64_t* word_at(const Region& region, std::uint64_t addr) noexcept {
  if (region.kind() != Region::Kind::foreign) {
    return reinterpret_cast<std::uint64_t*>(region.at(addr));
  }
  return region.owner_pid() == ::getpid() ? reinterpret_cast<std::uint64_t*>(addr) : nullptr;
}

}  // namespace

Status change_word_at(const Region& region, std::uint64_t addr, const WordChange& what,
                      std::uint64_t& before) noexcept {
  std::uint64_t* const word = word_at(region, addr);
  Gate* const gate = region.gate();
  if (word == nullptr || (gate != nullptr && !gate->enter())) {
    return Status::io_failed;
  }
  before = change(*word, what);
  if (gate != nullptr) {
    gate->leave();
  }
  return Status::success;
}

}  // namespace pydoca::sim
