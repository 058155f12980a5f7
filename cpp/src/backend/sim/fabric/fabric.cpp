#include "backend/sim/fabric/fabric.hpp"

#include "backend/sim/fabric/sockets.hpp"
#include "detail/concat.hpp"
#include "detail/system_reason.hpp"

#include <cerrno>
#include <cstdint>
#include <optional>
#include <string>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace pydoca::sim {
namespace {

using detail::concat;
using detail::Fd;

constexpr std::string_view other_directory_advice = "set PYDOCA_FABRIC_DIR, on both sides, to another directory";

[[noreturn]] void throw_errno(std::string_view attempt, int error) {
  throw Error(Status::operating_system, concat(attempt, ": ", detail::system_reason(error)));
}

constexpr std::uint64_t fnv_prime = 0x100000001b3;

std::uint64_t hash(std::uint64_t seed, std::string_view text) noexcept {
  for (const char c : text) {
    seed = (seed ^ static_cast<unsigned char>(c)) * fnv_prime;
  }
  return seed;
}

/// Spreads the last characters over all bits.
std::uint64_t mix(std::uint64_t value) noexcept {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

void append_digits(std::string& text, std::uint64_t value, int digits) {
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) {
    text.push_back("0123456789abcdef"[(value >> shift) & 0xfU]);
  }
}

std::optional<ucred> credentials(int fd) noexcept {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    return std::nullopt;
  }
  return peer;
}

Status connect_status(int error) noexcept {
  switch (error) {
    case ECONNREFUSED:
    case ENOENT:
      return Status::not_found;
    case EAGAIN:
      return Status::again;
    case EACCES:
    case EPERM:
      return Status::not_permitted;
    default:
      return Status::operating_system;
  }
}

Status accept_status(int error) noexcept {
  switch (error) {
    case EAGAIN:
    case EINTR:
      return Status::again;
    case EMFILE:
    case ENFILE:
      return Status::full;
    default:
      return Status::operating_system;
  }
}

int connect_socket(int fd, const Address& address) noexcept {
  const SocketName name(address);
  int result = name.error();
  if (result == 0) {
    do {
      result = ::connect(fd, name.get(), SocketName::length) == 0 ? 0 : errno;
    } while (result == EINTR);
  }
  return result;
}

Fd connected(Fd fd, const Address& address, Status& status) noexcept {
  const int error = fd ? connect_socket(fd.get(), address) : errno;
  status = error != 0 ? connect_status(error) : Status::success;
  if (error == ECONNREFUSED) {
    leave(address.directory);  // removes the file that a dead process has left
  }
  if (status == Status::success && !peer_allowed(fd.get())) {
    status = Status::not_permitted;
  }
  if (status != Status::success) {
    fd.reset();
    errno = error;
  } else {
    SocketFile::leave_at_exit(address.directory);
  }
  return fd;
}

[[noreturn]] void throw_unbound(const Address& address, int error) {
  if (error == EPERM || error == EOPNOTSUPP || error == EINVAL) {
    throw Error(Status::operating_system, concat("the file system of ", address.directory.path(), " takes no sockets (",
                                                 detail::system_reason(error), "); ", other_directory_advice));
  }
  throw_errno(concat("cannot bind a socket in ", address.directory.path()), error);
}

int try_bind(int fd, const Address& address) noexcept {
  const SocketName name(address);
  if (name.error() != 0) {
    return name.error();
  }
  return ::bind(fd, name.get(), SocketName::length) == 0 ? 0 : errno;
}

/// Each attempt locks the directory as it is then: others may remove it as long as it is empty.
SocketFile bind_at(int fd, const Address& address) {
  constexpr int attempts = 100;
  int error = ENOENT;
  for (int i = 0; i < attempts && error == ENOENT; ++i) {
    FabricLock lock;
    lock.lock(address.directory);
    sweep(address.directory);
    error = try_bind(fd, address);
    if (error == EADDRINUSE && is_left_behind(address)) {
      ::unlink(address.path().c_str());
      error = try_bind(fd, address);
    }
  }
  if (error == EADDRINUSE) {
    throw Error(Status::already_exist, concat("a socket listens there already (", address.path(), ")"));
  }
  if (error != 0) {
    throw_unbound(address, error);
  }
  return SocketFile(address);
}

/// Nothing has to be replaced, so no lock is needed: the directory may have been removed, and is made again. What dead
/// processes have left goes if no process has the lock.
SocketFile bind_at_new(int fd, const Address& address) {
  constexpr int attempts = 100;
  int error = ENOENT;
  for (int i = 0; i < attempts && error == ENOENT; ++i) {
    FabricLock lock;
    if (lock.try_lock(address.directory)) {
      sweep(address.directory);
    }
    error = try_bind(fd, address);
  }
  if (error != 0) {
    throw_unbound(address, error);
  }
  return SocketFile(address);
}

/// A socket that bind has given its place.
template <class Bind>
ListeningSocket listening(const Address& address, int backlog, Bind bind) {
  ListeningSocket socket;
  socket.fd = own_socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.fd) {
    throw_errno("cannot create a socket", errno);
  }
  ::fchmod(socket.fd.get(), 0600);  // the file that bind() makes gets this mode
  socket.file = bind(socket.fd.get(), address);
  if (::listen(socket.fd.get(), backlog) != 0) {
    throw_errno("cannot listen on a socket", errno);
  }
  return socket;
}

}  // namespace

Address fabric_address(std::string_view fabric, std::string_view purpose, std::string_view key) {
  const std::string text = concat(fabric, '\0', purpose, '\0', key);
  Address address{FabricDirectory(fabric), concat(purpose.substr(0, 32), '-')};
  append_digits(address.file, mix(hash(0xcbf29ce484222325, text)), 16);
  append_digits(address.file, mix(hash(0x9ae16a3b2f90404f, text)), 8);
  const std::string path = address.path();
  if (path.size() > SocketName::max_path && ::access("/proc/self/fd", X_OK) != 0) {
    throw Error(Status::operating_system,
                concat("the path of a socket, ", path, ", has ", path.size(), " characters; ", SocketName::max_path,
                       " are the limit, because /proc is not mounted; ", other_directory_advice));
  }
  return address;
}

ListeningSocket listen_at(const Address& address, int backlog) { return listening(address, backlog, bind_at); }

ListeningSocket listen_at_new(const Address& address, int backlog) { return listening(address, backlog, bind_at_new); }

Fd accept_peer(int listener, Status& status) noexcept {
  Fd fd = own_socket(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!fd) {
    status = accept_status(errno);
    return {};
  }
  status = peer_allowed(fd.get()) ? Status::success : Status::not_permitted;
  return status == Status::success ? std::move(fd) : Fd();
}

Fd connect_to(const Address& address, Status& status) noexcept {
  return connected(own_socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)), address, status);
}

bool peer_allowed(int fd) noexcept {
  const auto peer = credentials(fd);
  return peer && peer->uid == ::geteuid();
}

pid_t peer_pid(int fd) noexcept {
  const auto peer = credentials(fd);
  return peer ? peer->pid : 0;
}

}  // namespace pydoca::sim
