#pragma once

#include <cstdint>
#include <sys/eventfd.h>

namespace pydoca::sim {

/// Stands for the engine's backend/sim/fabric/wakes.hpp in the models: an event file is the epoll set of a sleeper, and
/// each socket that it watches. So a socket has the number of the set that its bytes wake. Sleepers watch that file
/// edge-triggered (EdgeWatch).
class Wakes {
 public:
  int fd() const noexcept { return file_; }
  void wake() noexcept { ::eventfd_write(file_, 1); }
  void watch(int /*socket*/) {}

 private:
  const int file_ = ::eventfd(0, 0);
};

inline void send_wake(int socket) noexcept { ::eventfd_write(socket, 1); }
/// No model sleeps that often.
inline constexpr unsigned max_unread_wakes = 64;
inline void drain_wakes(int /*socket*/) noexcept {}

}  // namespace pydoca::sim
