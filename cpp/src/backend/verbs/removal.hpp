#pragma once

#include "backend/verbs/async_events.hpp"
#include "backend/verbs/library.hpp"
#include "detail/fd.hpp"

#include <atomic>
#include <string>

namespace pydoca::verbs {

/// Notices that a device goes while it is open. A driver that can tell does so by an asynchronous event; others, such
/// as Soft-RoCE, keep the device working and their removal waiting until the last process closes it, and only the
/// kernel's announcements of devices tell. What else asynchronous events say goes to AsyncEvents. From any thread.
class Removal {
 public:
  /// Throws operating_system. Asynchronous events of a borrowed context are its owner's to read.
  Removal(ibv_context& context, bool borrowed, AsyncEvents& events);

  /// Whether it has been noticed; costs nothing.
  bool noticed() const noexcept { return noticed_.load(std::memory_order_relaxed); }
  /// The same, after a look at what has come: one system call.
  bool notice() noexcept;

  /// Has an epoll set show what may be a removal, until unwatch(). Throws operating_system.
  void watch(int epoll_fd) const;
  void unwatch(int epoll_fd) const noexcept;

 private:
  bool read_async_events() noexcept;
  bool read_announcements() noexcept;
  bool is_of_device(const char* announcement) const noexcept;

  const int async_fd_;  ///< -1: not to be read
  ibv_context& context_;
  AsyncEvents& events_;
  const std::string sysfs_path_;
  const std::string announcement_end_;  ///< "/infiniband_verbs/uverbs0"
  detail::Fd announcements_;
  detail::Fd noticed_file_;  ///< readable for ever once somebody has noticed, as the others are then empty
  std::atomic<bool> noticed_{false};
};

}  // namespace pydoca::verbs
