#include "backend/sim/fabric/sockets.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace pydoca::sim {

namespace {

constexpr std::size_t max_noted = 1U << 16;  // descriptors beyond stay open in children

// By descriptor, the inode of the socket that it was when it was noted: the number may have gone to another file since.
// The table is not locked, so that a forked child can read it.
std::array<std::atomic<ino_t>, max_noted> inodes;
std::atomic<std::size_t> end_of_noted{0};

/// 0: not a socket.
ino_t socket_inode(int fd) noexcept {
  struct stat status{};
  return ::fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode) ? status.st_ino : 0;
}

/// The number stays in use: the objects that the child inherits will close it.
void replace_sockets() noexcept {
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (std::size_t fd = 0; null >= 0 && fd < end_of_noted.load(); ++fd) {
    const ino_t noted = inodes.at(fd).exchange(0);
    if (noted != 0 && noted == socket_inode(static_cast<int>(fd))) {
      ::dup3(null, static_cast<int>(fd), O_CLOEXEC);
    }
  }
  if (null >= 0) ::close(null);
}

void note(std::size_t fd) noexcept {
  inodes.at(fd) = socket_inode(static_cast<int>(fd));
  std::size_t end = end_of_noted.load();
  while (end <= fd && !end_of_noted.compare_exchange_weak(end, fd + 1)) {
  }
}

}  // namespace

detail::Fd own_socket(int fd) noexcept {
  if (fd >= 0 && std::cmp_less(fd, max_noted)) {
    static const int hooked = ::pthread_atfork(nullptr, nullptr, replace_sockets);
    if (hooked == 0) note(static_cast<std::size_t>(fd));
  }
  return detail::Fd(fd);
}

}  // namespace pydoca::sim
