#pragma once

#include "pydoca/context.hpp"
#include "pydoca/cpus.hpp"
#include "pydoca/status.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace pydoca::detail {
class ReadyList;
class ReadyNode;
}  // namespace pydoca::detail

#pragma GCC visibility push(default)

namespace pydoca {

/// enum doca_pe_event_mode. Selective: clear_notification() is needed after each wake-up. All: request_notification()
/// clears.
enum class EventMode : std::uint8_t { progress_selective = 0, progress_all = 1 };

/// Where a call looks for something to deliver.
enum class Sources : std::uint8_t {
  all,     ///< everywhere: in the end also at descriptors, which takes a system call, if there is nothing else
  listed,  ///< everywhere else: only once in a while at descriptors, which end the sleep of a caller that sleeps next
};

/// What an engine did so far: numbers that only grow.
struct EngineStats {
  TaskStats tasks;  ///< counts of all contexts that are or were connected
  /// Times that it was armed for a sleep (request_notification(), wait()).
  std::uint64_t sleeps = 0;
  /// Sleeps that ended because, or after, something happened; the others ended by a time limit, or nothing came.
  std::uint64_t wake_ups = 0;
  /// Looks of progress() and spin() that found nothing.
  std::uint64_t vain_looks = 0;
};

/// Delivers the completions and events of the contexts that are connected to it, when it is asked to (DOCA Core
/// Programming Guide, progress engine: doca_pe). What a progress costs depends on what completed, not on the number of
/// contexts.
///
/// Two ways to wait: call progress() until it answers 1; or request_notification(), sleep until notification_handle()
/// is readable, and progress until it answers 0.
///
/// Ownership: contexts hold their engine. The engine owns its descriptors and has no threads.
///
/// Thread safety: an engine belongs to the first thread that uses it after its creation or release_thread(), with its
/// contexts, their tasks and the bufs of these. From other threads, only submit_threadsafe(), is_inherited() and
/// take_over() may be called. A forked child cannot use its parent's engine.
class ProgressEngine : public std::enable_shared_from_this<ProgressEngine> {
 public:
  /// Throws operating_system when the process is out of descriptors.
  static std::shared_ptr<ProgressEngine> create();
  ~ProgressEngine();
  ProgressEngine(const ProgressEngine&) = delete;
  ProgressEngine& operator=(const ProgressEngine&) = delete;

  /// Connects a context for life (doca_pe_connect_ctx). Throws invalid_value for null, not_permitted when the context
  /// has an engine already and in another thread than the engine's, bad_state unless it is idle, when it or the engine
  /// is closed and in a forked child.
  void connect(const std::shared_ptr<Context>& context);
  /// Ends the use of the engine for good; idempotent. Imports that are under way fail with shutdown. Throws in_use
  /// while a connected context is neither closed nor destroyed.
  void close();

  /// Handles at most one completion, event or state step (doca_pe_progress): 1 when something advanced, 0 when there
  /// was nothing. When nothing is complete, it may do a piece of a simulated device's work, and then answers 1.
  /// Callbacks run in it. In another thread, or in a callback that it runs, it does nothing, writes an error to the log
  /// and answers 0.
  /// In virtual time (virtual_time.hpp) a call that finds nothing lets other threads run, and time move.
  std::uint8_t progress() noexcept;
  /// The same as progress(), again and again until something advances, max times at most: for a thread that waits
  /// without sleeping. It looks at descriptors at the first of 32 times.
  std::uint8_t spin(std::uint32_t max, Sources sources = Sources::all) noexcept;
  /// Handles up to max completions, events or steps, and returns how many; does none of a device's work. It returns
  /// after a callback that has dropped the last reference to a context, a graph or the engine. In another thread, or in
  /// a callback that progress() runs, it does nothing and returns 0.
  std::size_t drain(std::size_t max, Sources sources = Sources::all) noexcept;
  /// Does a piece of a simulated device's work, as progress() does when it finds nothing; false when there was none.
  bool assist() noexcept;
  /// The next of these calls also looks at the sources that announce themselves by descriptors. By themselves they do
  /// so once in a while, as it costs a system call: for callers with much to do between two calls.
  void look_at_descriptors() noexcept;

  /// A descriptor for epoll, select or an event loop (doca_pe_get_notification_handle): readable when the engine is
  /// armed and something is pending. The engine owns it; do not read or close it. A submission to an armed engine may
  /// make it readable before the task has completed: progress, and arm again.
  int notification_handle() const noexcept { return epoll_fd_; }
  /// Arms the handle (doca_pe_request_notification); if something is pending, the handle is readable at once.
  void request_notification() noexcept;
  /// Disarms it, so that it is not readable (doca_pe_clear_notification). Needed after each wake-up in the mode
  /// progress_selective, which is the default.
  void clear_notification() noexcept;
  /// Throws bad_state in a callback that progress() runs and in a forked child, not_permitted in another thread than
  /// the engine's.
  void set_event_mode(EventMode mode);
  EventMode event_mode() const noexcept { return event_mode_; }
  /// Whether progress() would advance something now, apart from events that wait in file descriptors.
  bool has_pending() const noexcept;
  /// Whether something that it waits for may advance on another CPU while this thread looks for it: then looking for a
  /// moment may save two wake-ups. False in a thread that may run on one CPU only, as long as all that it waits for
  /// comes from threads on the same CPU: looking would keep it from them. A device of hardware is elsewhere, and so is
  /// a peer on another CPU, or on several; it says so when it wakes this engine. Found out anew by each
  /// request_notification() and wait(), so it is as old as the last sleep.
  bool may_advance_elsewhere() const noexcept { return may_advance_elsewhere_; }

  /// Blocks until the handle is readable, and returns true; or until timeout_ms milliseconds have passed (below 0: no
  /// limit) or a signal has arrived, and returns false. Arms before and disarms afterwards. It delivers nothing, so
  /// progress before and after.
  bool wait(int timeout_ms) noexcept;

  /// Has the next progress() submit task, and wakes an armed engine; any thread may call it. The task must be idle (a
  /// freed one is undefined behaviour), and is the engine's from now to its completion, with its bufs. Tasks of one
  /// thread keep their order. The submission is that of Task::try_submit(); when it fails, the task completes with its
  /// status, by the error callback, and its context runs on. invalid_value for a task of another engine, bad_state when
  /// the task was handed over already and in a forked child; the task is then the caller's as before.
  Status submit_threadsafe(Task& task) noexcept;

  /// Whether this process was forked from the engine's. Any thread may call it.
  bool is_inherited() const noexcept;

  /// Tasks of all contexts that were submitted and have not completed.
  std::size_t num_inflight_tasks() const noexcept { return counts_.inflight(); }
  /// Only the engine's thread calls it.
  EngineStats stats() const noexcept { return {counts_.stats(), sleeps_, wake_ups_, vain_looks_}; }
  /// Contexts that are connected, and neither closed nor destroyed.
  std::size_t num_contexts() const noexcept { return num_contexts_; }

  /// success in the engine's thread, which the calling one becomes if there is none. not_permitted in another thread,
  /// bad_state in a forked child.
  Status check_thread() noexcept;
  /// Why check_thread() failed, naming both threads.
  std::string describe_thread() const;
  /// Throws what check_thread() answers, unless it is success; the message begins with what was attempted: "stop", or
  /// "stop" and "dma".
  void require_thread(std::string_view verb, std::string_view object = {});
  /// Throws bad_state when it is closed.
  void require_open(std::string_view what) const;
  /// Lets another thread become the owner, by its next call. Throws in_use while tasks or imports are under way and in
  /// a callback, and as check_thread() answers.
  void release_thread();
  /// The thread that it belongs to, as gettid() numbers it; 0: it has no owner.
  long owner_tid() const noexcept { return owner_tid_; }
  /// Makes the calling thread the owner of another's engine, with all that is in flight. Only when that thread has
  /// ended or will never use the engine again. Does nothing after fork.
  void take_over() noexcept;

  // Contexts with file descriptors use these: node is put on the ready list when fd shows events (EPOLLIN ...).
  void watch(int fd, std::uint32_t events, detail::ReadyNode& node);
  void rewatch(int fd, std::uint32_t events, detail::ReadyNode& node) noexcept;
  void unwatch(int fd) noexcept;
  /// An operation took as long as a system call does, or longer: descriptors are looked at after sixteen of them.
  void count_long_operation() noexcept;
  /// Nodes of a library, apart from its context, join this list.
  detail::ReadyList& ready_list() noexcept { return *ready_; }
  /// What needs the engine without a context, such as an import: close() ends it, and release_thread() is refused.
  class Guest {
   public:
    /// Calls leave(); may run callbacks.
    virtual void engine_closed() noexcept = 0;

   protected:
    ~Guest() = default;
  };
  void enter(Guest& guest) { guests_.push_back(&guest); }
  void leave(Guest& guest) noexcept { std::erase(guests_, &guest); }

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
  /// Records where the thread is, before a sleep.
  void note_cpus() noexcept;
  /// Something happened since the engine was armed, if it was.
  void count_wake_up() noexcept;

  std::unique_ptr<detail::ReadyList> ready_;
  std::unique_ptr<Inbox> inbox_;
  int epoll_fd_ = -1;
  detail::TaskCounts counts_;
  std::uint64_t vain_looks_ = 0;
  std::uint64_t sleeps_ = 0;
  std::uint64_t wake_ups_ = 0;
  std::size_t num_contexts_ = 0;
  std::size_t num_fds_ = 0;
  std::uint32_t cost_since_fds_ = 0;
  std::uint64_t owner_ = UINT64_MAX;  ///< token of the thread; UINT64_MAX, detail::no_thread: none
  long owner_tid_ = 0;                ///< 0: none
  std::uint32_t forks_ = 0;
  Cpus cpus_;  ///< where its thread was, at the last sleep
  EventMode event_mode_ = EventMode::progress_selective;
  bool has_slept_ = false;  ///< whether it has slept, and nothing has happened since
  bool closed_ = false;
  bool may_advance_elsewhere_ = !has_one_cpu();
  std::vector<Guest*> guests_;  ///< last, apart from what progress() reads
};

}  // namespace pydoca

#pragma GCC visibility pop
