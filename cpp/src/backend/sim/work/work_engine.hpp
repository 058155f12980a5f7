#pragma once

#include "pydoca/backend/queue.hpp"
#include "pydoca/trace.hpp"
#include "pydoca/types.hpp"

#include "backend/sim/work/finished_operations.hpp"
#include "detail/thread/thread_token.hpp"

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

namespace pydoca::sim {

/// A queue as the engine sees it.
class Workload {
 public:
  Workload(std::uint32_t depth, backend::Notifier& notifier, bool cuts_operations)
      : finished_(depth, notifier), cuts_operations_(cuts_operations) {}
  Workload(const Workload&) = delete;
  Workload& operator=(const Workload&) = delete;

  /// Works on bytes [offset, offset + size) of a checked operation; on all of it where operations are not cut. Any
  /// thread may call it.
  virtual Status work(backend::DataOperation& operation, std::uint64_t offset, std::uint64_t size,
                      bool streaming) noexcept = 0;
  /// Whether several cores may work on one operation.
  bool cuts_operations() const noexcept { return cuts_operations_; }
  FinishedOperations& finished() noexcept { return finished_; }
  const FinishedOperations& finished() const noexcept { return finished_; }

 protected:
  ~Workload() = default;

 private:
  FinishedOperations finished_;
  const bool cuts_operations_;
};

/// The worker threads of one device. They take large operations of its queues apart into pieces, together with any core
/// that polls, or do them whole.
class WorkEngine {
 public:
  /// name is the device's, for traces; it outlives the engine.
  WorkEngine(const std::atomic<bool>& removed, std::string_view name, Side side)
      : removed_(removed), name_(name), side_(side) {}
  ~WorkEngine();
  WorkEngine(const WorkEngine&) = delete;
  WorkEngine& operator=(const WorkEngine&) = delete;

  /// Starts the workers, once; queues call it. False where the system gave no thread: then push() must not be used.
  /// Throws bad_state in a process forked since the engine was made: it has the objects, not the threads.
  bool start();
  /// Whether this process was forked after the engine was made.
  bool is_inherited() const noexcept { return forks_ != detail::fork_count(); }

  /// Whether the device was removed.
  bool removed() const noexcept { return removed_.load(std::memory_order_relaxed); }
  /// Why an operation must not begin, or go on; success: it may. driver: the device was removed. shutdown: its queue
  /// was broken. The queue is asked first: where the removal broke it, every operation that follows is told of the
  /// removal.
  Status interruption(const FinishedOperations& finished) const noexcept {
    const bool is_broken = finished.broken();
    return removed() ? Status::driver : is_broken ? Status::shutdown : Status::success;
  }

  /// Gives a checked operation to the workers. operation.queue: its Workload.
  void push(backend::DataOperation& operation) noexcept;
  /// Does one piece on the calling core; false when there is none. own is the queue that belongs to the calling thread,
  /// if there is one; its finished operations need no detour. Only workers (own is null) do operations that are not
  /// cut, which may take long.
  bool work_one(Workload* own) noexcept;
  /// Takes back the operations of one queue, which operation.queue names, if no piece of them was begun; they come as a
  /// list linked by next.
  backend::Operation* withdraw(const Workload& queue) noexcept;

 private:
  struct Piece {
    backend::DataOperation* operation = nullptr;
    std::uint32_t index = 0;
    bool streaming = false;
  };

  Piece claim(bool is_worker) noexcept;
  void execute(const Piece& piece, Workload* own) noexcept;
  Status work(const Piece& piece) noexcept;
  void record(const Piece& piece, std::uint64_t begin, Status status) const noexcept;
  void run_worker() noexcept;
  bool spin_for_work() const noexcept;
  void sleep_for_work() noexcept;
  void wake_workers() noexcept;

  const std::atomic<bool>& removed_;
  const std::string_view name_;
  const Side side_;
  TraceLabel trace_label_;
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
