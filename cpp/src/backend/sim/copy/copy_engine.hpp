#pragma once

#include "pydoca/backend/queue.hpp"

#include "backend/sim/copy/copy.hpp"
#include "detail/thread_token.hpp"

#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace pydoca::sim {

class FinishedCopies;

/// The copy engine of one device: worker threads that take large operations apart into pieces, together with any core
/// that polls.
class CopyEngine {
 public:
  CopyEngine(const CopyLimits& limits, const std::atomic<bool>& removed);
  ~CopyEngine();
  CopyEngine(const CopyEngine&) = delete;
  CopyEngine& operator=(const CopyEngine&) = delete;

  /// Starts the workers, once; queues call it. False where the system gave no thread: then push() must not be used.
  /// Throws bad_state in a process forked since the engine was made: it has the objects, not the threads.
  bool start();
  /// Whether this process was forked after the engine was made.
  bool is_inherited() const noexcept { return forks_ != detail::fork_count(); }

  const CopyLimits& limits() const noexcept { return limits_; }
  /// Whether the device was removed.
  bool removed() const noexcept { return removed_.load(std::memory_order_relaxed); }

  /// Gives a checked operation to the workers. operation.queue: the FinishedCopies that it goes to in the end.
  void push(backend::CopyOperation& operation) noexcept;
  /// Does one piece on the calling core; false when there is none. own: of the queue that belongs to the calling
  /// thread, if there is one; its finished operations need no detour.
  bool work_one(FinishedCopies* own) noexcept;
  /// Takes back the operations of one queue, which operation.queue names, if no piece of them was begun; they come as a
  /// list linked by next.
  backend::Operation* withdraw(const FinishedCopies& queue) noexcept;

 private:
  struct Piece {
    backend::CopyOperation* operation = nullptr;
    std::uint32_t index = 0;
    bool streaming = false;
  };

  Piece claim() noexcept;
  void execute(const Piece& piece, FinishedCopies* own) noexcept;
  void run_worker() noexcept;
  bool spin_for_work() const noexcept;
  void sleep_for_work() noexcept;
  void wake_workers() noexcept;

  const CopyLimits limits_;
  const std::atomic<bool>& removed_;
  std::mutex mutex_;
  backend::Operation* first_ = nullptr;
  backend::Operation* last_ = nullptr;
  std::uint64_t bytes_waiting_ = 0;
  bool streaming_ = false;  ///< stores go around the cache: since streaming_threshold waited, until nothing waits
  // Falling asleep is Dekker's pattern, as in ReadyList: a worker says so, then looks for work; a thread that has
  // work publishes it, then looks for sleepers. Only the first thread that sees them wakes them: waking takes long, and
  // more work may come meanwhile.
  std::atomic<bool> has_work_{false};
  std::atomic<bool> asleep_{false};
  std::atomic<std::uint32_t> wake_ups_{0};
  std::atomic<bool> stopping_{false};
  const std::uint32_t forks_ = detail::fork_count();
  std::vector<std::thread> workers_;
};

}  // namespace pydoca::sim
