#pragma once

#include "backend/verbs/adapter/async_events.hpp"
#include "backend/verbs/library/library.hpp"
#include "detail/fd.hpp"

#include <atomic>
#include <string>

namespace pydoca::verbs {

/// Notices that an open device is removed. Some drivers send an asynchronous event. Others, such as Soft-RoCE, keep the
/// device working and delay its removal until the last process closes it; then only the kernel's announcements of
/// devices show it. All other asynchronous events go to AsyncEvents. Any thread may use it.
class Removal {
 public:
  /// Throws operating_system. Asynchronous events of a borrowed context are its owner's to read.
  Removal(ibv_context& context, bool borrowed, AsyncEvents& events);

  /// Whether it has been noticed, without a system call.
  bool noticed() const noexcept { return noticed_.load(std::memory_order_relaxed); }
  /// The same, after reading what has come: one system call.
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
  detail::Fd noticed_file_;  ///< readable for ever once the removal was noticed, as the others are then empty
  std::atomic<bool> noticed_{false};
};

}  // namespace pydoca::verbs
