// Stands before the system's calls: the n-th of one name fails as failure/injection.hpp says.
#include "failure/injection.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <unistd.h>

namespace {

using pydoca::failure::Plan;

template <class Function>
Function* next(const char* name) noexcept {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

/// Whether this call fails; errno says why.
bool fails(const char* name) noexcept {
  if (!pydoca::failure::fails(Plan::Kind::call, name)) {
    return false;
  }
  errno = pydoca::failure::planned_error();
  return true;
}

/// A transfer of `size` bytes: `transfer` does as many as it is told.
template <class Transfer>
ssize_t shortened(const char* name, std::size_t size, const Transfer& transfer) {
  if (!fails(name)) {
    return transfer(size);
  }
  return errno == pydoca::failure::short_transfer ? transfer((size + 1) / 2) : -1;
}

template <class Move>
ssize_t move_foreign(const char* name, Move* real, pid_t process, const iovec* here, const iovec* there,
                     unsigned long num_there, unsigned long flags) {
  return shortened(name, here->iov_len, [&](std::size_t size) {
    const iovec part{here->iov_base, size};
    return real(process, &part, 1, there, num_there, flags);
  });
}

}  // namespace

extern "C" {

int socket(int domain, int type, int protocol) noexcept {
  static auto* const real = next<int(int, int, int)>("socket");
  return fails("socket") ? -1 : real(domain, type, protocol);
}

int connect(int fd, const sockaddr* address, socklen_t length) {
  static auto* const real = next<int(int, const sockaddr*, socklen_t)>("connect");
  return fails("connect") ? -1 : real(fd, address, length);
}

int listen(int fd, int backlog) noexcept {
  static auto* const real = next<int(int, int)>("listen");
  return fails("listen") ? -1 : real(fd, backlog);
}

int accept4(int fd, sockaddr* address, socklen_t* length, int flags) {
  static auto* const real = next<int(int, sockaddr*, socklen_t*, int)>("accept4");
  return fails("accept4") ? -1 : real(fd, address, length, flags);
}

ssize_t sendmsg(int fd, const msghdr* message, int flags) {
  static auto* const real = next<ssize_t(int, const msghdr*, int)>("sendmsg");
  return fails("sendmsg") ? -1 : real(fd, message, flags);
}

ssize_t recvmsg(int fd, msghdr* message, int flags) {
  static auto* const real = next<ssize_t(int, msghdr*, int)>("recvmsg");
  return fails("recvmsg") ? -1 : real(fd, message, flags);
}

int memfd_create(const char* name, unsigned flags) noexcept {
  static auto* const real = next<int(const char*, unsigned)>("memfd_create");
  return fails("memfd_create") ? -1 : real(name, flags);
}

int ftruncate(int fd, off_t size) noexcept {
  static auto* const real = next<int(int, off_t)>("ftruncate");
  return fails("ftruncate") ? -1 : real(fd, size);
}

void* mmap(void* address, std::size_t size, int protection, int flags, int fd, off_t offset) noexcept {
  static auto* const real = next<void*(void*, std::size_t, int, int, int, off_t)>("mmap");
  return fails("mmap") ? MAP_FAILED : real(address, size, protection, flags, fd, offset);
}

int eventfd(unsigned initial, int flags) noexcept {
  static auto* const real = next<int(unsigned, int)>("eventfd");
  return fails("eventfd") ? -1 : real(initial, flags);
}

int timerfd_create(int clock, int flags) noexcept {
  static auto* const real = next<int(int, int)>("timerfd_create");
  return fails("timerfd_create") ? -1 : real(clock, flags);
}

int epoll_create1(int flags) noexcept {
  static auto* const real = next<int(int)>("epoll_create1");
  return fails("epoll_create1") ? -1 : real(flags);
}

/// Only what adds a descriptor can fail.
int epoll_ctl(int epoll, int operation, int fd, epoll_event* event) noexcept {
  static auto* const real = next<int(int, int, int, epoll_event*)>("epoll_ctl");
  return operation == EPOLL_CTL_ADD && fails("epoll_ctl") ? -1 : real(epoll, operation, fd, event);
}

int inotify_init1(int flags) noexcept {
  static auto* const real = next<int(int)>("inotify_init1");
  return fails("inotify_init1") ? -1 : real(flags);
}

int inotify_add_watch(int fd, const char* path, std::uint32_t mask) noexcept {
  static auto* const real = next<int(int, const char*, std::uint32_t)>("inotify_add_watch");
  return fails("inotify_add_watch") ? -1 : real(fd, path, mask);
}

// NOLINTNEXTLINE(cert-dcl50-cpp): as the system declares it
int open(const char* path, int flags, ...) {
  static auto* const real = next<int(const char*, int, ...)>("open");
  va_list arguments;
  va_start(arguments, flags);
  const auto mode = va_arg(arguments, mode_t);
  va_end(arguments);
  return fails("open") ? -1 : real(path, flags, mode);
}

// NOLINTNEXTLINE(cert-dcl50-cpp)
int fcntl(int fd, int command, ...) {
  static auto* const real = next<int(int, int, ...)>("fcntl");
  va_list arguments;
  va_start(arguments, command);
  void* const argument = va_arg(arguments, void*);
  va_end(arguments);
  return fails(command == F_DUPFD_CLOEXEC ? "fcntl:dup" : "fcntl") ? -1 : real(fd, command, argument);
}

ssize_t read(int fd, void* bytes, std::size_t size) {
  static auto* const real = next<ssize_t(int, void*, std::size_t)>("read");
  return shortened("read", size, [&](std::size_t part) { return real(fd, bytes, part); });
}

// The engine gives these two one range of its own.
ssize_t process_vm_readv(pid_t process, const iovec* here, unsigned long /*num_here*/, const iovec* there,
                         unsigned long num_there, unsigned long flags) noexcept {
  static auto* const real = next<decltype(process_vm_readv)>("process_vm_readv");
  return move_foreign("process_vm_readv", real, process, here, there, num_there, flags);
}

ssize_t process_vm_writev(pid_t process, const iovec* here, unsigned long /*num_here*/, const iovec* there,
                          unsigned long num_there, unsigned long flags) noexcept {
  static auto* const real = next<decltype(process_vm_writev)>("process_vm_writev");
  return move_foreign("process_vm_writev", real, process, here, there, num_there, flags);
}

}  // extern "C"
