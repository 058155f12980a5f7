#pragma once

#include "pydoca/backend/notifier.hpp"
#include "pydoca/backend/queue.hpp"

#include "backend/sim/copy/copy_engine.hpp"

#include <atomic>
#include <cstdint>
#include <memory>

namespace pydoca::sim {

/// A queue of the copy engine. Small operations are executed where they are posted, large ones go to the engine's
/// workers; either way poll() gives them back.
class CopyQueue final : public backend::CopyQueue {
 public:
  /// Throws bad_state in a process forked since the engine was made.
  CopyQueue(CopyEngine& engine, const backend::QueueOptions& options, backend::Notifier& notifier);
  ~CopyQueue() override;

  Status post(backend::CopyOperation& operation, bool flush) noexcept override;
  backend::Operation* poll(bool& more) noexcept override;
  bool assist() noexcept override { return engine_.work_one(this); }
  void flush() noexcept override;
  void abort() noexcept override;

  // For the engine: whether to go on, and the end of an operation, in this queue's thread or in any.
  bool broken() const noexcept { return broken_.load(std::memory_order_relaxed); }
  void finish(backend::CopyOperation& operation, Status status) noexcept;
  void finish_remotely(backend::CopyOperation& operation, Status status) noexcept;

 private:
  /// What post() does not do at once. Apart, so that post() itself stays small.
  [[gnu::noinline]] void accept(backend::CopyOperation& operation, bool flush) noexcept;
  void execute(backend::CopyOperation& operation) noexcept;
  void collect_remote() noexcept;
  void prefetch() const noexcept;

  CopyEngine& engine_;
  backend::Notifier& notifier_;
  const std::uint32_t depth_;
  const std::uint64_t inline_size_;
  std::uint32_t outstanding_ = 0;
  // A ring of at least depth_ places, not a list: what comes later can be fetched before its turn.
  const std::uint32_t mask_;
  const std::unique_ptr<backend::Operation*[]> finished_;
  std::uint32_t finished_head_ = 0;
  std::uint32_t finished_tail_ = 0;
  backend::Operation* unposted_ = nullptr;
  backend::Operation** unposted_end_ = &unposted_;
  std::atomic<bool> broken_{false};
  alignas(64) std::atomic<backend::Operation*> finished_remotely_{nullptr};
  std::atomic<std::uint32_t> workers_inside_{0};
};

}  // namespace pydoca::sim
