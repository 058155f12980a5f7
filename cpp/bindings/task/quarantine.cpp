#include "task/quarantine.hpp"

#include "convert/convert.hpp"

#include <algorithm>

namespace pydoca::bindings {

namespace {

[[noreturn]] void refuse(const std::string& what, const MemoryRange& range, const MemoryHolder& holder) {
  raise_named(
      "BufferInUseError",
      format_text("{}: the memory of the buf of {} bytes at {:#x} is in quarantine: a {} that was cancelled and "
                  "given up still has it; wait for that task, or stop its context and progress until it is "
                  "IDLE, or use other memory",
                  what, range.end - range.begin, range.begin, holder.describe()));
}

}  // namespace

Quarantine& Quarantine::instance() noexcept {
  static constinit Quarantine quarantine;
  return quarantine;
}

void Quarantine::add(const MemoryHolder& task, const EngineObject& engine, const std::vector<const Buf*>& lists) {
  for (const Buf* list : lists) {
    for (const Buf* buf = list; buf != nullptr; buf = buf->next()) {
      add(task, engine, {buf->mmap(), buf->head(), buf->head() + buf->len()});
    }
  }
}

void Quarantine::add(const MemoryHolder& task, const EngineObject& engine, const MemoryRange& range) {
  pieces_.push_back({&task, &engine, range, range.mmap->is_from_export()});
}

void Quarantine::remove(const MemoryHolder& task) noexcept {
  std::erase_if(pieces_, [&](const Piece& piece) { return piece.task == &task; });
}

bool Quarantine::share_memory(const Piece& piece, const MemoryRange& range) noexcept {
  // Addresses of imported maps belong to the exporter's address space, and cannot be compared with another map's.
  const bool comparable = range.mmap == piece.range.mmap || (!piece.imported && !range.mmap->is_from_export());
  return comparable && range.begin < piece.range.end && piece.range.begin < range.end;
}

void Quarantine::require_released(const std::string& what, const MemoryRange& range, const MemoryHolder* own) const {
  const auto found = std::ranges::find_if(pieces_, [&](const Piece& piece) { return share_memory(piece, range); });
  if (found != pieces_.end() && found->task != own) refuse(what, range, *found->task);
}

std::size_t Quarantine::num_tasks(const EngineObject& engine) const noexcept {
  std::size_t count = 0;
  const MemoryHolder* previous = nullptr;
  for (const Piece& piece : pieces_) {
    count += piece.task != previous && piece.engine == &engine ? 1U : 0U;
    previous = piece.task;
  }
  return count;
}

}  // namespace pydoca::bindings
