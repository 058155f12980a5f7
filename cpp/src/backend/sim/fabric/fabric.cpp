#include "backend/sim/fabric/fabric.hpp"

#include "detail/concat.hpp"
#include "detail/system_reason.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fcntl.h>
#include <optional>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>
#include <utility>

namespace pydoca::sim {
namespace {

using detail::concat;
using detail::Fd;

bool is_own_directory(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == ::geteuid();
}

/// The directory that is trusted unchecked, and the first directory of pydoca's below it.
std::pair<std::string, std::string> base_and_first() {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  if (runtime != nullptr && runtime[0] == '/' && is_own_directory(runtime)) {
    return {runtime, "pydoca"};
  }
  return {"/tmp", concat("pydoca-", ::geteuid())};
}

[[noreturn]] void throw_errno(std::string_view attempt, int error) {
  throw Error(Status::operating_system, concat(attempt, ": ", detail::system_reason(error)));
}

void require_private(int fd, const std::string& path) {
  struct stat info{};
  if (::fstat(fd, &info) != 0) {
    throw_errno(concat("cannot inspect the fabric's directory ", path), errno);
  }
  if (info.st_uid != ::geteuid()) {
    throw Error(Status::not_permitted,
                concat("the fabric's directory ", path, " belongs to user ", info.st_uid, ", not to ", ::geteuid(),
                       "; remove it or set XDG_RUNTIME_DIR to a directory of yours"));
  }
  if ((info.st_mode & 077U) != 0) {
    throw Error(Status::not_permitted,
                concat("the fabric's directory ", path, " is open to other users; run: chmod 700 ", path));
  }
}

/// Never follows a link: another user's link could lead to that user's directory.
Fd open_private(int parent, const std::string& name, const std::string& path) {
  if (::mkdirat(parent, name.c_str(), 0700) != 0 && errno != EEXIST) {
    throw_errno(concat("cannot create the fabric's directory ", path), errno);
  }
  Fd fd(::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd && (errno == ENOTDIR || errno == ELOOP)) {
    throw Error(Status::not_permitted, concat("the fabric's directory ", path, " is not a directory; remove it"));
  }
  if (!fd) {
    throw_errno(concat("cannot open the fabric's directory ", path), errno);
  }
  require_private(fd.get(), path);
  return fd;
}

void require_fabric_name(std::string_view fabric) {
  if (fabric.empty() || fabric == "." || fabric == ".." ||
      fabric.find_first_of(std::string_view("/\0", 2)) != fabric.npos) {
    throw Error(Status::invalid_value, concat("\"", fabric, "\" cannot be a fabric's name"));
  }
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

void append_digits(std::string& text, std::uint64_t value) {
  for (int shift = 60; shift >= 0; shift -= 4) {
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

Fd connected(Fd fd, const Address& address, Status& status) noexcept {
  status = Status::operating_system;
  if (!fd) {
    return {};
  }
  int result = 0;
  do {
    result = ::connect(fd.get(), address.get(), address.length);
  } while (result != 0 && errno == EINTR);
  if (result != 0) {
    status = connect_status(errno);
    return {};
  }
  status = peer_allowed(fd.get()) ? Status::success : Status::not_permitted;
  return status == Status::success ? std::move(fd) : Fd();
}

/// Blocks in each call, for a slice at most.
Fd sliced_socket() noexcept {
  Fd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  constexpr timeval slice{.tv_sec = 0, .tv_usec = std::chrono::microseconds(interrupt_slice).count()};
  if (fd && (::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &slice, sizeof slice) != 0 ||
             ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &slice, sizeof slice) != 0)) {
    fd.reset();
  }
  return fd;
}

[[noreturn]] void throw_taken(const Address& address) {
  Status status = Status::success;
  const Fd probe = connect_to(address, status);
  if (status == Status::not_permitted) {
    throw Error(status,
                "a process of another user listens there; set PYDOCA_FABRIC to another name on both sides, or ask "
                "that user to end it");
  }
  throw Error(Status::already_exist, "another socket listens there already");
}

}  // namespace

std::string fabric_path(std::string_view fabric) {
  const auto [base, first] = base_and_first();
  return concat(base, '/', first, '/', fabric);
}

Fd open_fabric(std::string_view fabric) {
  require_fabric_name(fabric);
  const auto [base, first] = base_and_first();
  const Fd root(::open(base.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root) {
    throw_errno(concat("cannot open ", base), errno);
  }
  const std::string path = concat(base, '/', first);
  const Fd parent = open_private(root.get(), first, path);
  return open_private(parent.get(), std::string(fabric), concat(path, '/', fabric));
}

void announce(std::string_view fabric) {
  const Fd directory = open_fabric(fabric);
  if (::futimens(directory.get(), nullptr) != 0) {
    throw_errno(concat("cannot touch the fabric's directory ", fabric_path(fabric)), errno);
  }
}

Address fabric_address(std::string_view fabric, std::string_view purpose, std::string_view key) {
  std::string text = concat(::geteuid(), '\0', fabric, '\0', purpose, '\0', key);
  std::string name = concat("pydoca-", purpose.substr(0, 32), '-');
  append_digits(name, mix(hash(0xcbf29ce484222325, text)));
  append_digits(name, mix(hash(0x9ae16a3b2f90404f, text)));
  Address address;
  address.name.sun_family = AF_UNIX;
  std::copy(name.begin(), name.end(), address.name.sun_path + 1);  // the leading NUL makes it abstract
  address.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}

Fd listen_at(const Address& address, int backlog) {
  Fd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) {
    throw_errno("cannot create a socket", errno);
  }
  if (::bind(fd.get(), address.get(), address.length) != 0) {
    if (errno == EADDRINUSE) {
      throw_taken(address);
    }
    throw_errno("cannot bind a socket", errno);
  }
  if (::listen(fd.get(), backlog) != 0) {
    throw_errno("cannot listen on a socket", errno);
  }
  return fd;
}

Fd accept_peer(int listener, Status& status) noexcept {
  Fd fd(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!fd) {
    status = accept_status(errno);
    return {};
  }
  status = peer_allowed(fd.get()) ? Status::success : Status::not_permitted;
  return status == Status::success ? std::move(fd) : Fd();
}

Fd connect_to(const Address& address, Status& status) noexcept {
  return connected(Fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)), address, status);
}

Fd connect_within(const Address& address, detail::WaitLimit& limit, Status& status) noexcept {
  Status waiting = Status::success;
  Fd fd;
  do {
    fd = connected(sliced_socket(), address, status);
    waiting = status == Status::again ? limit.check() : Status::success;
  } while (status == Status::again && waiting == Status::success);
  if (status == Status::again) {
    status = waiting;
  }
  return fd;
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
