#pragma once

#include "detail/fd.hpp"

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <sys/types.h>

namespace pydoca::sim {

/// The thread that answers importers of this process's memory: it waits for all connections between owners and
/// importers. One a process, started on first use, never joined. A forked child has none of its parent's connections,
/// and starts a service of its own when it needs one. While there are connections to other processes it checks at times
/// whether these have ended: the end of a connection can come seconds after its process's.
class Service {
 public:
  using Id = std::uint64_t;  ///< identifies a connection; never used twice
  using Lock = std::unique_lock<std::mutex>;

  /// Called by the service's thread, which then holds the service's lock.
  class Connection {
   public:
    virtual ~Connection() = default;
    /// There is something to read or accept. False ends the connection.
    virtual bool readable(Service& service, Id id, int fd) noexcept = 0;
    /// The peer has gone, or readable() gave up; the connection is out of the service already.
    virtual void ended(Service& service, Id id) noexcept = 0;
    /// Closes the descriptors in a forked child, and does nothing else. Destroying what it holds could need locks that
    /// threads of the parent had.
    virtual void leave_to_parent() noexcept {}
  };

  /// Throws operating_system when the system has no thread or no descriptors for it.
  static Service& instance();
  /// Whether this is still the process's service: not after fork() in the child.
  bool is_current() const noexcept { return current().load(std::memory_order_acquire) == this; }

  /// Guards the connections and what their owners share with them.
  Lock lock() { return Lock(mutex_); }

  // The caller has the lock:
  /// Throws operating_system; fd is then as it was.
  Id add(detail::Fd&& fd, std::unique_ptr<Connection> connection);
  /// Closes without calling ended(); an unknown id is fine.
  void remove(Id id) noexcept;

  /// Waits until the service, if there is one, has dealt with all that had come to it.
  static void settle() noexcept;

 private:
  struct Entry {
    detail::Fd fd;
    std::unique_ptr<Connection> connection;
    pid_t peer = 0;  ///< another process; 0: none, or one that cannot be looked at
  };

  Service();
  static std::atomic<Service*>& current() noexcept;
  static void before_fork() noexcept;
  static void after_fork_in_parent() noexcept;
  static void after_fork_in_child() noexcept;
  void start_thread();
  void run() noexcept;
  void serve(Id id, std::uint32_t events) noexcept;
  /// Ends the connections to processes that have ended.
  void look_at_peers() noexcept;
  void set_timer() noexcept;

  std::mutex mutex_;
  std::map<Id, Entry> connections_;
  Id next_id_ = 1;
  detail::Fd epoll_;
  detail::Fd timer_;  ///< tells when to look at the peers next
  bool timer_on_ = false;
  Service* inherited_ = nullptr;  ///< the parent's in a forked child; never used
};

}  // namespace pydoca::sim
