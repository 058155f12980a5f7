#pragma once

#include "pydoca/device.hpp"
#include "pydoca/mmap.hpp"
#include "pydoca/status.hpp"

#include <any>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace pydoca::library {
struct DpaState;
class KernelRun;
}  // namespace pydoca::library

#pragma GCC visibility push(default)

namespace pydoca {

/// A sync event as kernels see it (DOCA DPA: doca_dpa_dev_sync_event_t), made by SyncEvent::dpa_handle(). The functions
/// may be called from any thread. Besides what a sync event answers, they answer shutdown when the DPA has stopped,
/// io_failed when it has failed, and not_permitted for what the event's locations do not give to the DPA: a publisher
/// updates, a subscriber waits.
class DpaSyncEvent {
 public:
  static constexpr std::chrono::nanoseconds forever = std::chrono::nanoseconds::max();

  virtual ~DpaSyncEvent() = default;
  [[nodiscard]] virtual Status get(std::uint64_t& value) const noexcept = 0;
  [[nodiscard]] virtual Status update_set(std::uint64_t value) noexcept = 0;
  /// previous receives the value before.
  [[nodiscard]] virtual Status update_add(std::uint64_t increment, std::uint64_t& previous) noexcept = 0;
  // Until the value, masked, is greater than value, equal to it, or not. The thread sleeps meanwhile.
  [[nodiscard]] virtual Status wait_gt(std::uint64_t value, std::uint64_t mask,
                                       std::chrono::nanoseconds timeout = forever) noexcept = 0;
  [[nodiscard]] virtual Status wait_eq(std::uint64_t value, std::uint64_t mask,
                                       std::chrono::nanoseconds timeout = forever) noexcept = 0;
  [[nodiscard]] virtual Status wait_neq(std::uint64_t value, std::uint64_t mask,
                                        std::chrono::nanoseconds timeout = forever) noexcept = 0;
  /// For the engine: those that wait for the event, here and on the CPU, look again.
  virtual void wake() noexcept = 0;
};

/// A memory map as kernels see it (doca_dpa_dev_mmap_t), made by Dpa::map(). It keeps the map's memory, not the map.
struct DpaMmap {
  std::byte* data = nullptr;
  std::size_t size = 0;      ///< bytes
  bool is_writable = false;  ///< whether the local device may write to it; if not, a kernel does not
  std::shared_ptr<const void> owner;

  std::span<std::byte> bytes() const noexcept { return {data, size}; }
};

/// The thread that a kernel runs on.
class DpaThread {
 public:
  virtual ~DpaThread() = default;
  DpaThread(const DpaThread&) = delete;
  DpaThread& operator=(const DpaThread&) = delete;

  /// The thread's number in its launch: 0 .. num_threads - 1.
  virtual std::uint32_t rank() const noexcept = 0;
  virtual std::uint32_t num_threads() const noexcept = 0;
  /// Whether the kernel should return: the DPA stops, or another kernel has failed. A kernel that runs for long asks.
  virtual bool is_stopping() const noexcept = 0;
  /// The thread of a launch that repeats runs no more once this kernel has returned (doca_dpa_dev_thread_finish).
  virtual void finish() noexcept = 0;

 protected:
  DpaThread() = default;
};

/// What a kernel does. An exception that leaves it is a fatal error of the DPA.
using DpaKernel = std::function<void(DpaThread& thread, const std::any& argument)>;

/// What a launch is (doca_dpa_kernel_launch_update_set and _add).
struct DpaLaunch {
  std::string kernel;  ///< the name that was registered
  std::any argument = {};
  std::uint32_t num_threads = 1;
  std::shared_ptr<DpaSyncEvent> wait_event =
      nullptr;  ///< the kernel starts once its value is greater than wait_threshold
  std::uint64_t wait_threshold = 0;
  std::shared_ptr<DpaSyncEvent> done_event = nullptr;  ///< changed when all threads are done, unless one failed
  std::uint64_t done_value = 0;
  bool done_adds = false;  ///< add done_value instead of setting it
  /// Each thread runs the kernel again and again: after each DpaRun::notify(), or, with a wait_event, each time that
  /// has grown. It ends by DpaThread::finish() or by a stop (doca_dpa_thread).
  bool repeats = false;
};

/// One launch. Any thread may call it.
class DpaRun {
 public:
  virtual ~DpaRun() = default;
  DpaRun(const DpaRun&) = delete;
  DpaRun& operator=(const DpaRun&) = delete;

  /// Waits until all threads are done: success; io_failed when a kernel has failed; driver when the device was removed;
  /// shutdown when the DPA was stopped before; what wait_event answered; time_out; again when an interrupt ended the
  /// wait; bad_state in a forked child.
  [[nodiscard]] virtual Status wait(std::chrono::nanoseconds timeout = DpaSyncEvent::forever) noexcept = 0;
  virtual bool is_done() const noexcept = 0;
  /// Wakes the threads of a launch that repeats without an event (doca_dpa_dev_thread_notify), as a completion does:
  /// a task's callback may call it. Notifications that come before a thread runs wake it once.
  virtual void notify() noexcept = 0;
  /// Why wait() answers status: one sentence.
  virtual std::string explain(Status status) const = 0;

  // A caller that brings its own threads (Dpa::prepare()) runs the kernel itself: for each rank it calls thread() once;
  // then it runs the kernel each time next_turn() says so; then it calls end().
  virtual std::unique_ptr<DpaThread> thread(std::uint32_t rank) const = 0;
  /// Blocks until the kernel should run now, or answers false: the thread ends.
  virtual bool next_turn(DpaThread& thread) noexcept = 0;
  /// The kernel has failed: a fatal error, unless that follows from a stop.
  virtual void fail(DpaThread& thread, const char* why) noexcept = 0;
  virtual void end(const DpaThread& thread) noexcept = 0;

 protected:
  DpaRun() = default;
};

/// The data-path accelerator of a device (DOCA DPA: struct doca_dpa): threads of the device that run kernels of this
/// program. In the simulator these are threads of this process; a kernel's name replaces the program that a card would
/// load.
///
/// A kernel that throws leaves the DPA in a fatal error state: launches answer bad_state, waits of other kernels end,
/// and so do waits of the CPU for runs and for events that the DPA publishes (io_failed). Only close() leads out of it.
///
/// Ownership: uses its device until it is closed. Thread safety: every function may be called from any thread. A forked
/// child has none of the threads, and can only close.
class Dpa {
 public:
  static bool is_supported(const DeviceInfo& info) noexcept;

  /// Throws invalid_value for null, bad_state when the device is closed, not_supported when it has no DPA.
  static std::shared_ptr<Dpa> create(std::shared_ptr<Device> device);
  ~Dpa();
  Dpa(const Dpa&) = delete;
  Dpa& operator=(const Dpa&) = delete;

  /// Throws invalid_value for an empty name or function, already_exist for a name that has a kernel, bad_state once
  /// closed.
  void register_kernel(std::string name, DpaKernel kernel);

  /// Throws bad_state unless new, driver when the device was removed.
  void start();
  /// Ends the waits of kernels and of threads that have not begun, and waits until all threads have ended. Throws again
  /// when one has not after two seconds, or an interrupt ended the wait; a second call goes on.
  void stop();
  /// Stops, and gives the device back. Idempotent. Throws as stop() does.
  void close();
  bool is_running() const noexcept;

  /// Throws not_found for a kernel that was not registered, bad_state unless the DPA runs and has not failed,
  /// invalid_value for 0 threads or handles of another DPA, full when more threads than the capability says would run,
  /// driver when the device was removed, operating_system.
  std::shared_ptr<DpaRun> launch(DpaLaunch launch);
  /// Prepares a launch without threads, for a caller that brings its own (DpaRun::next_turn). The kernel needs no name
  /// that is registered.
  std::shared_ptr<DpaRun> prepare(DpaLaunch launch);

  /// Gives kernels the whole range of a started map of this process's memory. Throws not_found when the map lacks the
  /// device, not_supported for imported memory, bad_state once closed, what the map throws.
  DpaMmap map(const Mmap& mmap) const;

  /// success, or the status of the kernel's failure, io_failed (doca_dpa_peek_at_last_error).
  Status last_error() const noexcept;
  /// The kernel that failed, and its exception's text; empty without failure.
  std::string failure() const;
  /// Threads of launches that have not ended.
  std::uint32_t num_threads() const noexcept;
  const std::shared_ptr<Device>& device() const noexcept;

  /// The engine's libraries use it.
  const std::shared_ptr<library::DpaState>& state() const noexcept { return state_; }

 private:
  Dpa(std::shared_ptr<Device> device, std::shared_ptr<library::DpaState> state) noexcept;
  const DpaKernel* find_kernel(const std::string& name) const;
  std::shared_ptr<library::KernelRun> make_run(DpaLaunch launch);
  /// Throws bad_state in a forked child.
  void require_own(std::string_view what) const;

  const std::shared_ptr<Device> device_;
  const std::shared_ptr<library::DpaState> state_;
};

}  // namespace pydoca

#pragma GCC visibility pop
