#pragma once

#include "pydoca/backend/notifier.hpp"
#include "pydoca/backend/queue.hpp"

#include "backend/sim/work/work_engine.hpp"

#include <cstdint>

namespace pydoca::sim {

/// What the queues of a device have in common, whatever their operations do. Small operations are executed where they
/// are posted, large ones go to the device's workers; either way next_finished() gives them back.
class EngineQueue : public backend::DataQueue, public Workload {
 public:
  /// An operation of at most inline_size costs less than telling another core about it. An ordered queue executes every
  /// operation where it is posted: workers would finish a small one before a large one that came first. Throws
  /// bad_state in a process forked since the engine was made.
  EngineQueue(WorkEngine& engine, const backend::QueueOptions& options, backend::Notifier& notifier,
              std::uint64_t inline_size, bool cuts_operations);
  ~EngineQueue() override;

  Status post(backend::DataOperation& operation, bool flush) noexcept override;
  backend::Operation* poll(bool& more) noexcept final { return next_finished(more); }
  bool assist() noexcept final { return engine_.work_one(this); }
  void flush() noexcept final;
  void abort() noexcept final;

 protected:
  /// io_failed when the device would refuse the operation.
  virtual Status check(const backend::DataOperation& operation) const noexcept = 0;

  /// Why an operation that takes long must not go on, as the engine says; success: it may.
  Status interruption() const noexcept { return engine_.interruption(finished()); }
  /// Takes a place for an operation; false when all are taken.
  bool take_place() noexcept {
    if (outstanding_ == depth_) [[unlikely]] {
      return false;
    }
    ++outstanding_;
    return true;
  }
  /// Whether an operation of that length is executed at once.
  bool runs_at_once(std::uint64_t length, bool flush) const noexcept {
    return length <= inline_size_ && begins_at_once(flush);
  }
  /// The same of one that is not longer than inline_size().
  bool begins_at_once(bool flush) const noexcept {
    return flush && unposted_ == nullptr && !finished().broken() && !engine_.removed();
  }
  std::uint64_t inline_size() const noexcept { return inline_size_; }
  /// The slow path of post(). A function of its own, so that post() stays small.
  [[gnu::noinline]] void accept(backend::DataOperation& operation, bool flush) noexcept;

 private:
  backend::Operation* next_finished(bool& more) noexcept;
  void execute(backend::DataOperation& operation) noexcept;

  WorkEngine& engine_;
  backend::Notifier& notifier_;
  const std::uint32_t depth_;
  const std::uint64_t inline_size_;
  std::uint32_t outstanding_ = 0;
  backend::Operation* unposted_ = nullptr;
  backend::Operation** unposted_end_ = &unposted_;
};

}  // namespace pydoca::sim
