#include "backend/sim/fabric/process_end.hpp"

#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdio>
#include <dirent.h>
#include <memory>
#include <string_view>
#include <sys/uio.h>
#include <system_error>
#include <unistd.h>

namespace pydoca::sim {

bool has_memory(pid_t thread) noexcept {
  std::byte probe{};
  const iovec here{.iov_base = &probe, .iov_len = 1};
  const iovec there{.iov_base = nullptr, .iov_len = 1};
  return ::process_vm_readv(thread, &here, 1, &there, 1, 0) >= 0 || errno != ESRCH;
}

namespace {

/// Whether the numbers in /proc are those of this process's PID namespace.
bool proc_is_own() noexcept {
  std::array<char, 16> text{};
  pid_t self = 0;
  return ::readlink("/proc/self", text.data(), text.size() - 1) > 0 &&
         std::from_chars(text.data(), text.data() + text.size(), self).ec == std::errc() && self == ::getpid();
}

}  // namespace

bool has_ended(pid_t process) noexcept {
  if (process <= 0 || has_memory(process) || !proc_is_own()) {
    return false;
  }
  // The first thread may have ended alone.
  std::array<char, 32> path{};
  std::snprintf(path.data(), path.size(), "/proc/%d/task", process);
  const std::unique_ptr<DIR, int (*)(DIR*)> threads(::opendir(path.data()), &::closedir);
  if (threads == nullptr) {
    return errno == ENOENT;
  }
  while (const dirent* const thread = ::readdir(threads.get())) {
    pid_t id = 0;
    const std::string_view name(thread->d_name);  // "." and ".." are not numbers
    if (std::from_chars(name.data(), name.data() + name.size(), id).ec == std::errc() && has_memory(id)) {
      return false;
    }
  }
  return true;
}

}  // namespace pydoca::sim
