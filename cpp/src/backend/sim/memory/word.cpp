#include "backend/sim/memory/word.hpp"

#include "detail/system/guarded_copy.hpp"

#include <atomic>
#include <unistd.h>

namespace pydoca::sim {

namespace {

std::uint64_t change(std::uint64_t& word, const WordChange& change) noexcept {
  const std::atomic_ref atomic(word);
  if (change.swaps == 0) {
    return atomic.fetch_add(change.operand, std::memory_order_seq_cst);
  }
  std::uint64_t before = change.compare;
  atomic.compare_exchange_strong(before, change.operand, std::memory_order_seq_cst);
  return before;
}

}  // namespace

std::uint64_t* word_at(const Region& region, std::uint64_t addr) noexcept {
  if (region.reach() != Region::Reach::foreign) {
    return reinterpret_cast<std::uint64_t*>(region.at(addr));
  }
  return region.owner_pid() == ::getpid() ? reinterpret_cast<std::uint64_t*>(addr) : nullptr;
}

/// No system call changes a word atomically: a file that is cut between the look and the change ends the process.
Status change_word_here(std::uint64_t& word, const WordChange& change, std::uint64_t& before) noexcept {
  if (!detail::is_there(reinterpret_cast<const std::byte*>(&word))) {
    return Status::io_failed;
  }
  before = sim::change(word, change);
  return Status::success;
}

Status change_word(const Region& region, std::uint64_t& word, const WordChange& change,
                   std::uint64_t& before) noexcept {
  RevocationPage* const revocation_page = region.revocation_page();
  if (revocation_page != nullptr && !revocation_page->enter()) {
    return Status::io_failed;
  }
  Status status = Status::success;
  if (region.reach() == Region::Reach::foreign) {
    status = change_word_here(word, change, before);
  } else {
    before = sim::change(word, change);
  }
  if (revocation_page != nullptr) {
    revocation_page->leave();
  }
  return status;
}

}  // namespace pydoca::sim
