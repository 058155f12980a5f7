/// What a queue pair does with the memory of its peer: reads, writes, atomics and sync events.

#include "pydoca/device_properties.hpp"

#include "backend/sim/copy/segment_copy.hpp"
#include "backend/sim/counter/counter.hpp"
#include "backend/sim/fabric/process_end.hpp"
#include "backend/sim/import/imported_region.hpp"
#include "backend/sim/memory/word.hpp"
#include "backend/sim/rdma/queue_pair.hpp"

#include <algorithm>
#include <chrono>

namespace pydoca::sim {

using backend::RdmaOpcode;
using backend::RdmaOperation;

namespace {

constexpr std::uint64_t word_size = sizeof(std::uint64_t);

/// Why memory could not be reached: its owner has died, or has withdrawn it.
Status cause_of(Status status, const Region& there) noexcept {
  const RevocationPage* const revocation_page = there.revocation_page();
  const pid_t owner =
      there.owner_pid();  // 0: its memory is mapped here, and fails only when the revocation page is closed
  const bool died = (revocation_page != nullptr && revocation_page->reason() == RevocationPage::owner_died) ||
                    (owner != 0 && !has_memory(owner));
  return died ? Status::connection_reset : status;
}

}  // namespace

Status QueuePair::move(RdmaOperation& operation) noexcept {
  if (operation.length == 0) {
    return Status::success;
  }
  const bool reads = operation.opcode == RdmaOpcode::read;
  const Region* const there = reachable(operation, operation.length, reads ? Access::rdma_read : Access::rdma_write);
  const RdmaCapabilities& limits = *shared_.place().capabilities().rdma;
  const std::uint32_t max_len = shared_.options().max_send_segments;
  const bool here = reads ? can_scatter(operation.local, operation.length, ordinal(), max_len)
                          : can_gather(operation.local, operation.length, ordinal(), max_len);
  if (there == nullptr || !here || operation.length > limits.max_message_size) {
    return Status::io_failed;
  }
  return move_piece(operation, *there);
}

Status QueuePair::move_piece(RdmaOperation& operation, const Region& there) noexcept {
  std::uint64_t& offset = operation.own[offset_word];
  const std::uint64_t size = std::min(largest_piece, operation.length - offset);
  const Status status = operation.opcode == RdmaOpcode::read
                            ? scatter(there, operation.remote_addr + offset, operation.local, ordinal(), offset, size)
                            : gather(operation.local, ordinal(), offset, there, operation.remote_addr + offset, size);
  if (status != Status::success) {
    return cause_of(status, there);
  }
  offset += size;
  if (offset == operation.length) {
    return Status::success;
  }
  shared_.attend_again(number_);
  return Status::again;
}

/// Writes the eight bytes that the operation returns to its local memory.
Status QueuePair::answer(const RdmaOperation& operation, std::uint64_t word) noexcept {
  const Bytes bytes(reinterpret_cast<std::byte*>(&word), word_size);
  return scatter(bytes, bytes.addr(), operation.local, ordinal(), 0, word_size);
}

Status QueuePair::change_word(RdmaOperation& operation) noexcept {
  const Region* const there = reachable(operation, word_size, Access::rdma_atomic);
  if (there == nullptr || operation.remote_addr % word_size != 0 ||
      !can_scatter(operation.local, word_size, ordinal(), shared_.options().max_send_segments)) {
    return Status::io_failed;
  }
  std::uint64_t before = 0;
  const WordChange change{.addr = operation.remote_addr,
                          .compare = operation.compare,
                          .operand = operation.operand,
                          .swaps = operation.opcode == RdmaOpcode::compare_swap ? 1U : 0U};
  std::uint64_t* const word = word_at(*there, change.addr);
  const Status status =
      word != nullptr ? sim::change_word(*there, *word, change, before) : ask_owner(operation, *there, change, before);
  if (status == Status::again) {
    return status;
  }
  return status == Status::success ? answer(operation, before) : cause_of(status, *there);
}

/// Only the owner can change memory that is not mapped here. again: it has not answered.
Status QueuePair::ask_owner(RdmaOperation& operation, const Region& there, const WordChange& change,
                            std::uint64_t& before) noexcept {
  WordChannel* const channel = static_cast<const ImportedRegion&>(there).word_channel();
  std::uint64_t& ticket = operation.own[ticket_word];
  const std::uint64_t now = detail::now();
  Status status = channel != nullptr ? Status::again : Status::io_failed;
  if (status == Status::again && ticket == 0) {
    deadline_ = now + static_cast<std::uint64_t>(std::chrono::nanoseconds(owner_timeout).count());
    ticket = channel->ask(change, shared_.mailbox(), number_);
    status = ticket != 0 ? Status::again : Status::io_failed;
  } else if (status == Status::again) {
    status = channel->answer(ticket, before);
  }
  if (status == Status::again && now < deadline_) {
    shared_.watch_deadline(deadline_);
    return status;
  }
  if (status == Status::again) {
    forget_question(operation);
    status = Status::time_out;
  }
  deadline_ = detail::never;
  ticket = 0;
  return status;
}

void QueuePair::forget_question(const RdmaOperation& operation) noexcept {
  const bool is_atomic = operation.opcode == RdmaOpcode::compare_swap || operation.opcode == RdmaOpcode::fetch_add;
  if (is_atomic && operation.own[ticket_word] != 0) {
    const Region* const there = region_of(*operation.remote, ordinal());
    static_cast<const ImportedRegion*>(there)->word_channel()->forget(operation.own[ticket_word]);
  }
}

Status QueuePair::use_counter(const RdmaOperation& operation) noexcept {
  const bool sets = operation.opcode == RdmaOpcode::counter_set;
  const bool adds = operation.opcode == RdmaOpcode::counter_add;
  const Access needed = sets ? Access::rdma_write : adds ? Access::rdma_atomic : Access::rdma_read;
  const std::uint32_t max_len = shared_.options().max_send_segments;
  const bool here = sets ? operation.length == word_size && can_gather(operation.local, word_size, ordinal(), max_len)
                         : can_scatter(operation.local, word_size, ordinal(), max_len);
  if (!here || operation.counter == nullptr || !allows_peer(needed) ||
      origin_of(*operation.counter) != peer_->origin()) {
    return Status::io_failed;
  }
  std::uint64_t word = 0;
  Bytes bytes(reinterpret_cast<std::byte*>(&word), word_size);
  Status status = Status::success;
  if (sets) {
    status = gather(operation.local, ordinal(), 0, bytes, bytes.addr(), word_size);
    status = status == Status::success ? operation.counter->store(word) : status;
  } else if (adds) {
    status = operation.counter->fetch_add(operation.operand, word);
  } else {
    word = operation.counter->load();
    status = operation.counter->failure(0);
  }
  if (status == Status::not_connected) {
    return Status::io_failed;  // its owner has withdrawn it
  }
  return status == Status::success && !sets ? answer(operation, word) : status;
}

}  // namespace pydoca::sim
