#include "task/quarantine.hpp"

#include <algorithm>

namespace pydoca::bindings {

Quarantine& Quarantine::instance() noexcept {
  static constinit Quarantine quarantine;
  return quarantine;
}

void Quarantine::add(const TaskObject& task, const EngineObject& engine, const std::vector<const Buf*>& lists) {
  for (const Buf* list : lists) {
    for (const Buf* buf = list; buf != nullptr; buf = buf->next()) {
      const Mmap& mmap = *buf->mmap();
      pieces_.push_back({&task, &engine, &mmap, buf->head(), buf->head() + buf->len(), mmap.is_from_export()});
    }
  }
}

void Quarantine::remove(const TaskObject& task) noexcept {
  std::erase_if(pieces_, [&](const Piece& piece) { return piece.task == &task; });
}

bool Quarantine::share_memory(const Piece& piece, const Buf& buf) noexcept {
  const Mmap& mmap = *buf.mmap();
  // Addresses of imported maps belong to the exporter's address space, and cannot be compared with another map's.
  const bool comparable = &mmap == piece.mmap || (!piece.imported && !mmap.is_from_export());
  return comparable && buf.head() < piece.end && piece.begin < buf.head() + buf.len();
}

const TaskObject* Quarantine::holder_of(const Buf& buf) const noexcept {
  const auto found = std::ranges::find_if(pieces_, [&](const Piece& piece) { return share_memory(piece, buf); });
  return found != pieces_.end() ? found->task : nullptr;
}

std::size_t Quarantine::num_tasks(const EngineObject& engine) const noexcept {
  std::size_t count = 0;
  const TaskObject* previous = nullptr;
  for (const Piece& piece : pieces_) {
    count += piece.task != previous && piece.engine == &engine ? 1U : 0U;
    previous = piece.task;
  }
  return count;
}

}  // namespace pydoca::bindings
