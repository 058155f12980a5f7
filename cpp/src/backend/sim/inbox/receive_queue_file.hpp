#pragma once

#include "backend/sim/inbox/receive_board.hpp"
#include "detail/fd.hpp"

#include <cstdint>

namespace pydoca::sim {

/// The memory of a context's receive board: the context's own, or as a peer maps it. The slots follow the state.
class BoardFile {
 public:
  /// num_receives: a power of 2, or 0. Throws no_memory, operating_system.
  explicit BoardFile(std::uint32_t num_receives);
  /// A peer's. Throws not_permitted when the file is not a board, no_memory.
  explicit BoardFile(detail::Fd file);
  ~BoardFile();
  BoardFile(const BoardFile&) = delete;
  BoardFile& operator=(const BoardFile&) = delete;

  int file() const noexcept { return file_.get(); }
  ReceiveBoard& board() noexcept { return board_; }

 private:
  void map(std::uint64_t size);

  detail::Fd file_;
  void* address_ = nullptr;
  std::uint64_t size_ = 0;
  ReceiveBoard board_;
};

}  // namespace pydoca::sim
