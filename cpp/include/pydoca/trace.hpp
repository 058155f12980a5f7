/// A timeline of what the engine does: tasks, messages, events and states, in this process and, on the simulator, in
/// every process of its fabric.
#pragma once

#include "pydoca/status.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#pragma GCC visibility push(default)

namespace pydoca {

namespace trace {
/// Changes whenever this process begins to record: names of one recording are not those of another.
std::uint32_t generation() noexcept;
}  // namespace trace

/// An object's place among the names of the present recording.
class TraceLabel {
 public:
  /// The name's index; make() adds it, unless that was done in this recording, generation. Threads may race; the names
  /// then have it twice.
  template <class Make>
  std::uint32_t index(Make make, std::uint32_t generation = trace::generation()) const noexcept {
    const std::uint64_t known = value_.load(std::memory_order_relaxed);
    if (known >> 32U == generation) [[likely]] {
      return static_cast<std::uint32_t>(known);
    }
    const std::uint32_t made = make();
    value_.store(std::uint64_t{generation} << 32U | made, std::memory_order_relaxed);
    return made;
  }

 private:
  mutable std::atomic<std::uint64_t> value_{0};
};

enum class TraceEventKind : std::uint8_t {
  submit = 1,      ///< a task was submitted, to move value bytes, or refused with status
  complete = 2,    ///< a task's completion was delivered, with status, just before its callback
  state = 3,       ///< a context went from state previous to value
  work = 4,        ///< a simulated device's worker did bytes of an operation; duration: the work's
  sent = 5,        ///< the message of this number left on the connection of this id; RDMA: was submitted
  received = 6,    ///< the message of this number arrived
  event_set = 7,   ///< a sync event was set to value by the CPU
  event_add = 8,   ///< value was added to a sync event by the CPU
  event_wait = 9,  ///< the CPU waited for a sync event; duration: the wait's
  await = 10,      ///< a coroutine, the subject, waited; duration: the wait's
};

enum class TraceNameKind : std::uint16_t {
  process = 1,    ///< its executable
  device = 2,     ///< "p0", "pf0 (host)"
  context = 3,    ///< "dma"; its parent is the device
  task = 4,       ///< "memcpy", a kind of tasks; its parent is the context
  event = 5,      ///< a sync event; its parent is the device
  coroutine = 6,  ///< "module.qualified_name:line"
};

/// A name that events of one process refer to.
struct TraceName {
  TraceNameKind kind{};
  std::uint32_t parent = 0;  ///< index in the process's names; 0: none
  std::uint32_t number = 0;  ///< the kind of tasks, numbered within its context
  std::string text;          ///< at most 112 bytes
};

/// A thread that recorded something.
struct TraceThread {
  std::uint32_t id = 0;  ///< the kernel's
  std::string name;
};

struct TraceProcess {
  std::uint32_t id = 0;  ///< the id that the process itself sees
  std::string name;
  std::vector<TraceName> names;  ///< the first one is none
  std::vector<TraceThread> threads;
  std::uint64_t lost = 0;  ///< events that found no room, or were overwritten by later ones
};

struct TraceEvent {
  std::uint64_t time = 0;      ///< when it began, nanoseconds of CLOCK_MONOTONIC
  std::uint64_t duration = 0;  ///< nanoseconds, at most some seconds; 0: an instant
  std::uint64_t id = 0;        ///< the task's, connection's or sync event's
  std::uint64_t value = 0;     ///< see the kind; a message's is its number
  std::uint32_t bytes = 0;     ///< length of a message or a piece of work, up to 4 GiB - 1
  std::uint32_t subject = 0;   ///< in the process's names: the context, device, event or coroutine
  std::uint32_t task = 0;      ///< index in the process's names: the kind of a task; 0: not known
  std::uint16_t process = 0;   ///< index in Trace::processes()
  std::uint16_t thread = 0;    ///< index in the process's threads
  TraceEventKind kind{};
  std::uint8_t previous = 0;  ///< state of a context
  Status status = Status::success;
};

struct TraceOptions {
  /// Events that each thread keeps; more overwrite the oldest. Rounded up to a power of two, 1024 to 65536. 32 bytes
  /// of memory each, in each thread that records. A trace that runs already decides for all that join it.
  std::uint32_t events_per_thread = 65536;
  /// Also other processes of this process's simulated fabric (sim::fabric()) that use a simulated device.
  bool fabric = true;
};

/// One trace, from start() to stop(). Several may run at a time, in one process and in one fabric: they share the
/// recordings, and each has the events of its own time.
///
/// A process that uses the fabric takes part by itself: it starts and stops recording within milliseconds of start()
/// and stop(), also when it comes later, and also while none of its threads is in pydoca. When it dies, its events stay
/// readable. A process records for as long as a tracer wants it; a tracer that dies ends its part. No file is left
/// behind.
///
/// In virtual time (sim::VirtualTime) a trace has times of that clock, and of this process alone, whose id is 1, with
/// its threads numbered from 1: equal runs have equal traces. Start and stop it within.
///
/// Cost: as benchmarks/trace_report prints. Without a trace a submission checks one flag, a completion nothing.
///
/// Thread safety: any thread may call; one at a time.
class Trace {
 public:
  /// Throws invalid_value for options, no_memory and operating_system when this process cannot record, bad_state when
  /// it records by the other clock, real or virtual, already, and what the fabric's directory may throw
  /// (sim::fabric()).
  static std::shared_ptr<Trace> start(const TraceOptions& options = {});
  /// Stops.
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  /// Ends the recording and collects the events; idempotent. Throws no_memory when there is none for the events, and
  /// bad_state in a forked child, or when the virtual time in which it started has ended, or one has begun.
  void stop();
  bool is_running() const noexcept { return state_ != nullptr; }

  /// When it started and stopped, nanoseconds of CLOCK_MONOTONIC.
  std::uint64_t begin() const noexcept { return begin_; }
  std::uint64_t end() const noexcept { return end_; }
  /// Empty until stop(). This process comes first.
  const std::vector<TraceProcess>& processes() const noexcept { return processes_; }
  /// In the order of their begin, at most max_events of them; empty until stop().
  const std::vector<TraceEvent>& events() const noexcept { return events_; }
  /// Events that were not kept, in all processes together.
  std::uint64_t lost() const noexcept;

  static constexpr std::size_t max_events = std::size_t{1} << 22;
  static constexpr std::size_t max_processes = 256;

 private:
  struct State;
  Trace() = default;

  std::unique_ptr<State> state_;  ///< while it runs
  std::uint64_t begin_ = 0;
  std::uint64_t end_ = 0;
  std::vector<TraceProcess> processes_;
  std::vector<TraceEvent> events_;
};

/// Bindings of other languages use these to record what their awaits do.
namespace trace {

/// Whether this process records now; one load.
bool is_on() noexcept;
/// A name in the present recording; 0 when it is full, or there is none.
std::uint32_t add_name(TraceNameKind kind, std::string_view text, std::uint32_t parent = 0) noexcept;
/// The present time, in units of its own.
std::uint64_t now() noexcept;
/// A coroutine of that name waited since begin, for the object of that id.
void record_await(std::uint32_t coroutine, std::uint64_t begin, std::uint64_t id) noexcept;

}  // namespace trace

}  // namespace pydoca

#pragma GCC visibility pop
