#pragma once

#include "pydoca/backend/notifier.hpp"
#include "pydoca/backend/queue.hpp"

#include "backend/sim/copy/copy_engine.hpp"
#include "backend/sim/copy/finished_copies.hpp"

#include <cstdint>

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
  bool assist() noexcept override { return engine_.work_one(&finished_); }
  void flush() noexcept override;
  void abort() noexcept override;

 private:
  /// The slow path of post(). A function of its own, so that post() stays small.
  [[gnu::noinline]] void accept(backend::CopyOperation& operation, bool flush) noexcept;
  void execute(backend::CopyOperation& operation) noexcept;

  CopyEngine& engine_;
  backend::Notifier& notifier_;
  const std::uint32_t depth_;
  const std::uint64_t inline_size_;
  std::uint32_t outstanding_ = 0;
  backend::Operation* unposted_ = nullptr;
  backend::Operation** unposted_end_ = &unposted_;
  FinishedCopies finished_;
};

}  // namespace pydoca::sim
