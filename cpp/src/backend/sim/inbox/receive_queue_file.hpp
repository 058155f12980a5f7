#pragma once

#include "backend/sim/inbox/receive_queue.hpp"
#include "detail/fd.hpp"

#include <cstdint>

namespace pydoca::sim {

/// The memory of a context's receive receive queue: the context's own, or as a peer maps it. The slots follow the
/// state.
class ReceiveQueueFile {
 public:
  /// num_receives: a power of 2, or 0. Throws no_memory, operating_system.
  explicit ReceiveQueueFile(std::uint32_t num_receives);
  /// A peer's. Throws not_permitted when the file is not a receive queue, no_memory.
  explicit ReceiveQueueFile(detail::Fd file);
  ~ReceiveQueueFile();
  ReceiveQueueFile(const ReceiveQueueFile&) = delete;
  ReceiveQueueFile& operator=(const ReceiveQueueFile&) = delete;

  int file() const noexcept { return file_.get(); }
  ReceiveQueue& receive_queue() noexcept { return receive_queue_; }

 private:
  void map(std::uint64_t size);

  detail::Fd file_;
  void* address_ = nullptr;
  std::uint64_t size_ = 0;
  ReceiveQueue receive_queue_;
};

}  // namespace pydoca::sim
