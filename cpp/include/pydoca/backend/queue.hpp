#pragma once

#include "pydoca/cpus.hpp"
#include "pydoca/segment.hpp"
#include "pydoca/status.hpp"

#include <atomic>
#include <cstdint>
#include <memory>

namespace pydoca::backend {

/// An operation, embedded in the task that asked for it. From post() until poll() returns it, it belongs to the queue.
struct Operation {
  Operation* next = nullptr;         ///< the queue's, while it has the operation
  Status outcome = Status::success;  ///< once it is given back
  /// A queue that holds back what another has finished keeps a number here. Once the operation is given back, this is
  /// 0, or the number, from 1, of the rule of a fault plan that has failed it. The member takes what would be padding.
  std::uint32_t slot = 0;
};

/// An operation of an engine's queue: what its table (EngineTraits) says is done to the data sections of source, in
/// list order, and the tailrooms of target. An engine whose operations need more than that derives. The queue does not
/// change data_len.
struct DataOperation : Operation {
  const Segment* source = nullptr;
  Segment* target = nullptr;  ///< null where the engine fills nothing
  std::uint64_t length = 0;   ///< bytes: the sum of source's data_len, as of submission

  // The queue's own while it has the operation: pieces claimed and finished by the cores that work on it.
  std::atomic<std::uint32_t> claimed{0};
  std::atomic<std::uint32_t> finished{0};
  std::atomic<Status> worst{Status::success};
  std::uint8_t opcode = 0;  ///< its number in the engine's table
  void* queue = nullptr;
};

/// What a device has computed in operations that follow one another, such as the pieces of a message. Not more than one
/// operation at a time has it.
class OperationState {
 public:
  virtual ~OperationState() = default;
};

struct QueueOptions {
  std::uint32_t depth = 0;  ///< operations that may be outstanding
  bool ordered = false;     ///< poll() gives them in the order in which they were posted
};

/// Takes operations and gives completions. Belongs to one thread, as its engine does.
///
/// How an engine learns of completions: an operation that ends in the engine's own thread is announced by the notifier
/// that the queue was lent, and so may those that end in other threads. A queue that has a descriptor is also looked at
/// while the engine polls, and armed before the engine sleeps.
class Queue {
 public:
  virtual ~Queue() = default;

  /// Pollable: readable when something came after arm(). -1: the notifier announces everything.
  virtual int fd() const noexcept { return -1; }
  /// Whether poll(), or next_event() of an RdmaQueue, would give something. Called often: no system call.
  virtual bool look() noexcept { return false; }
  /// Lets later completions make fd() readable; the caller looks for earlier ones afterwards. The next poll() takes
  /// this back and empties fd().
  virtual void arm() noexcept {}
  /// Whether a queue with a descriptor may get something to give while a thread on here, the caller's CPUs, is busy, as
  /// hardware may. A queue whose peers are threads tells them of here.
  virtual bool may_advance_elsewhere(Cpus /*here*/) noexcept { return true; }

  /// One finished operation, or null. more receives whether another one is waiting.
  virtual Operation* poll(bool& more) noexcept = 0;
  /// Does one piece of an operation on the calling core; false when there was none to do.
  virtual bool assist() noexcept { return false; }
  /// Posts the operations that were accepted without flush.
  virtual void flush() noexcept {}
  /// Ends every operation that has not begun, with status shutdown; those that have begun finish. poll() returns all.
  virtual void abort() noexcept = 0;
};

/// A queue of one engine. After an operation has failed it is broken: it ends what it has and all that is posted later
/// with status shutdown.
class DataQueue : public Queue {
 public:
  /// again: the queue is full. The operation comes back through poll(), never before post() returns. It is of the type
  /// that the engine defines.
  virtual Status post(DataOperation& operation, bool flush) noexcept = 0;
  /// A state that operations of this engine's queues on this device may have; it may outlive this queue. Null where
  /// the engine keeps nothing between operations. Throws no_memory.
  virtual std::unique_ptr<OperationState> create_state() { return nullptr; }
};

}  // namespace pydoca::backend
