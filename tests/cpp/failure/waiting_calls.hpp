#pragma once

#include <cstdint>

namespace pydoca::failure {

/// Counts what the thread does that can wait, while one exists: calls that sleep, and yields.
class WaitCount {
 public:
  WaitCount() noexcept;
  ~WaitCount();
  WaitCount(const WaitCount&) = delete;
  WaitCount& operator=(const WaitCount&) = delete;

  /// Calls of poll, epoll_wait, nanosleep and the like with a time-out that is not zero.
  std::uint64_t sleeps() const noexcept;
  std::uint64_t yields() const noexcept;
  /// The name of the last call that could sleep; empty when there was none.
  const char* last() const noexcept;
};

}  // namespace pydoca::failure
