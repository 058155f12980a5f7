#pragma once

#include "pydoca/context.hpp"
#include "pydoca/status.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace pydoca::detail {
class ReadyList;
class ReadyNode;
}  // namespace pydoca::detail

namespace pydoca {

/// enum doca_pe_event_mode. Selective: clear_notification() is needed after each wake-up. All: request_notification()
/// clears.
enum class EventMode : std::uint8_t { progress_selective = 0, progress_all = 1 };

/// Delivers the completions and events of the contexts connected to it (DOCA Core: doca_pe), only when asked to, only
/// in its thread: the first one that uses it after creation or release_thread(). What a progress costs depends on what
/// completed, not on the number of contexts.
class ProgressEngine : public std::enable_shared_from_this<ProgressEngine> {
 public:
  static std::shared_ptr<ProgressEngine> create();
  ~ProgressEngine();
  ProgressEngine(const ProgressEngine&) = delete;
  ProgressEngine& operator=(const ProgressEngine&) = delete;

  /// For life. Throws not_permitted when the context has an engine already, bad_state unless it is idle.
  void connect(const std::shared_ptr<Context>& context);
  /// Releases the object for good; idempotent. Throws in_use while a connected context is not closed.
  void close();

  /// Handles at most one completion, event or state step; 1 when something advanced, 0 when there was nothing. Lends
  /// the core to the device when nothing is complete. 0 in a wrong thread or a callback, with an error in the log.
  std::uint8_t progress() noexcept { return spin(1); }
  /// progress() until something advances, max times at most: for a thread that waits without sleeping.
  std::uint8_t spin(std::uint32_t max) noexcept;
  /// Up to max completions, without lending the core; returns how many advanced.
  std::size_t drain(std::size_t max) noexcept;

  /// Pollable (epoll, select, asyncio): readable once armed and something is pending. Owned by the engine. What is
  /// submitted to an armed engine may make it readable before it completes: progress, and arm again.
  int notification_handle() const noexcept { return epoll_fd_; }
  /// Arms the handle for the next completion; with one pending, the handle is readable at once.
  void request_notification() noexcept;
  void clear_notification() noexcept;
  void set_event_mode(EventMode mode);  ///< bad_state in a callback
  EventMode event_mode() const noexcept { return event_mode_; }
  /// Whether progress() would advance something now, apart from events that wait in file descriptors.
  bool has_pending() const noexcept;

  /// Blocks the calling thread until the handle is readable, at most timeout_ms (< 0: no limit) and until a signal
  /// arrives. Progress first; arms and disarms by itself. Returns false on time-out or signal.
  bool wait(int timeout_ms) noexcept;

  /// The one call for every thread: has the next progress submit task, which must be idle (a freed one is undefined
  /// behaviour) and stays the engine's from now to its completion. Validates as Task::try_submit does; a submission
  /// that fails is a failed completion, of this task alone. Tasks of one thread keep their order. Wakes an armed
  /// engine. bad_state when the task was handed over already, and after fork; invalid_value when it is another
  /// engine's.
  [[nodiscard]] Status submit_threadsafe(Task& task) noexcept;

  /// Whether this process was forked from the engine's. From any thread.
  bool is_inherited() const noexcept;

  std::size_t num_inflight_tasks() const noexcept { return inflight_; }
  std::size_t num_contexts() const noexcept { return num_contexts_; }

  /// Claims the engine for the calling thread when it has no owner. not_permitted in another thread, bad_state after
  /// fork.
  Status check_thread() noexcept;
  /// Why check_thread() failed, naming both threads.
  std::string describe_thread() const;
  /// Lets another thread take over. Throws in_use with tasks in flight.
  void release_thread();
  /// The thread that it belongs to, as gettid() numbers it; 0: it has no owner.
  long owner_tid() const noexcept { return owner_tid_; }
  /// Makes the calling thread the owner of another's engine, with all that is in flight. Only when that thread has
  /// ended or will never use the engine again. Does nothing after fork.
  void take_over() noexcept;

  // For contexts with file descriptors: node is put on the ready list when fd shows events (EPOLLIN ...).
  void watch(int fd, std::uint32_t events, detail::ReadyNode& node);
  void rewatch(int fd, std::uint32_t events, detail::ReadyNode& node) noexcept;
  void unwatch(int fd) noexcept;
  /// Nodes of a library, apart from its context, join this list.
  detail::ReadyList& ready_list() noexcept { return *ready_; }

 private:
  friend class Context;
  friend class Task;
  class Inbox;
  ProgressEngine();
  /// Forgets what was handed over of a context that is being destroyed.
  void take_back(const Context& context) noexcept;

  bool progress_ready(bool& may_collect) noexcept;
  bool look(bool& may_collect) noexcept;
  bool collect_fds() noexcept;

  std::unique_ptr<detail::ReadyList> ready_;
  std::unique_ptr<Inbox> inbox_;
  int epoll_fd_ = -1;
  std::size_t inflight_ = 0;
  std::size_t num_contexts_ = 0;
  std::size_t num_fds_ = 0;
  std::uint32_t cost_since_fds_ = 0;
  std::uint64_t owner_;  ///< token of the thread; no_thread: none
  long owner_tid_ = 0;   ///< 0: none
  std::uint32_t forks_ = 0;
  EventMode event_mode_ = EventMode::progress_selective;
  bool progressing_ = false;
  bool closed_ = false;
};

}  // namespace pydoca
