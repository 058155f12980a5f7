#include "backend/sim/memory/owner_process.hpp"

#include "backend/sim/fabric/process_end.hpp"
#include "backend/sim/memory/process.hpp"
#include "detail/concat.hpp"
#include "detail/system_reason.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace pydoca::sim {

namespace {

detail::Fd open_process(pid_t pid) noexcept {
#ifdef SYS_pidfd_open
  return detail::Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
#else
  return {};
#endif
}

detail::Fd open_memory(pid_t pid, bool writable) noexcept {
  std::array<char, 32> path{};
  std::snprintf(path.data(), path.size(), "/proc/%d/mem", pid);
  return detail::Fd(::open(path.data(), (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC));
}

[[noreturn]] void refuse(pid_t owner, int error) {
  if (error == EMFILE || error == ENFILE) {
    throw Error(Status::operating_system, detail::concat("import: ", detail::system_reason(error)));
  }
  const bool gone = owner > 0 && (error == ESRCH || error == ENOENT);
  const std::string name = owner > 0 ? detail::concat("process ", owner, " (", detail::system_reason(error), ")")
                                     : std::string("its owner, which is in another PID namespace");
  throw Error(gone ? Status::not_connected : Status::not_permitted,
              detail::concat("import: the system does not let this process reach memory of ", name,
                             "; export shared memory (in Python of pydoca.alloc), as a whole",
                             owner > 0 ? ", or permit ptrace" : ", or use one PID namespace for both"));
}

bool has_started_at(pid_t pid, std::uint64_t ticks) {
  try {
    return start_time(pid) == ticks;
  } catch (const Error& error) {
    if (error.status() != Status::not_found) {  // this process lacks something, as descriptors
      throw;
    }
    return false;
  }
}

/// Repeats call for what is left until all is moved.
template <class Call>
bool move_all(std::uint64_t size, Call call) noexcept {
  for (std::uint64_t done = 0; done < size;) {
    const ssize_t moved = call(done);
    if (moved <= 0 && (moved == 0 || errno != EINTR)) {
      return false;
    }
    done += moved > 0 ? static_cast<std::uint64_t>(moved) : 0;
  }
  return true;
}

}  // namespace

OwnerProcess::OwnerProcess(pid_t pid, std::uint64_t started, int connection, bool writable)
    : pid_(pid),
      connection_(detail::Fd::duplicate_of(connection)),
      process_(pid > 0 ? open_process(pid) : detail::Fd()),
      memory_(pid > 0 ? open_memory(pid, writable) : detail::Fd()) {
  if (!memory_ || !connection_) {
    refuse(pid, memory_ ? EMFILE : errno);
  }
  // It has been the owner from its start until now, so what was opened meanwhile is the owner's.
  if (!has_started_at(pid, started) || !lives()) {
    refuse(pid, ESRCH);
  }
}

bool OwnerProcess::lives() const noexcept {
  std::array<pollfd, 2> ends{{{.fd = connection_.get(), .events = POLLRDHUP, .revents = 0},
                              {.fd = process_.get(), .events = POLLIN, .revents = 0}}};
  return ::poll(ends.data(), ends.size(), 0) == 0 && (process_ || has_memory(pid_));
}

Status OwnerProcess::read(std::uint64_t from, std::byte* to, std::uint64_t size) const noexcept {
  const bool all = move_all(size, [&](std::uint64_t done) {
    const iovec here{to + done, size - done};
    const iovec there{reinterpret_cast<void*>(from + done), size - done};
    return ::process_vm_readv(pid_, &here, 1, &there, 1, 0);
  });
  if (all && lives()) [[likely]] {
    return Status::success;
  }
  std::memset(to, 0, size);  // it may be another process's
  return Status::io_failed;
}

Status OwnerProcess::write(std::uint64_t to, const std::byte* from, std::uint64_t size) const noexcept {
  const bool all = move_all(size, [&](std::uint64_t done) {
    return ::pwrite(memory_.get(), from + done, size - done, static_cast<off_t>(to + done));
  });
  return all ? Status::success : Status::io_failed;
}

}  // namespace pydoca::sim
