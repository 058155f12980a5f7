#pragma once

#include "backend/sim/fabric/directory.hpp"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

namespace pydoca::sim {

/// A socket's place in a fabric.
struct Address {
  FabricDirectory directory;
  std::string file;

  std::string path() const { return directory.path() + '/' + file; }
};

/// An address for one system call. A path that is too long for it leads through the open directory, by /proc.
class SocketName {
 public:
  explicit SocketName(const Address& address) noexcept;
  /// Why there is none: the number of a system error, or 0.
  int error() const noexcept { return error_; }
  const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&name_); }
  static constexpr socklen_t length = sizeof(sockaddr_un);
  static constexpr std::size_t max_path = sizeof(sockaddr_un::sun_path) - 1;

 private:
  void write(std::initializer_list<std::string_view> parts) noexcept;

  detail::Fd directory_;
  sockaddr_un name_{};
  int error_ = 0;
};

/// The file of a socket that this process has bound. Removed with this object, or when the process exits; then the
/// fabric's directory as well, unless others use it. A forked child leaves its parent's file alone.
class SocketFile {
 public:
  SocketFile() = default;
  /// Takes the file that bind() made.
  explicit SocketFile(const Address& address);
  ~SocketFile();
  SocketFile(SocketFile&& other) noexcept;
  SocketFile& operator=(SocketFile&& other) noexcept;

  /// Removes this process's files in one fabric's directory, as exit() does in all.
  static void remove_all(const FabricDirectory& directory) noexcept;
  /// Has exit() leave a directory in which this process has met another one, as it does those with its own files: the
  /// other one may have been killed, and nobody else may come.
  static void leave_at_exit(const FabricDirectory& directory) noexcept;

 private:
  class Registry;
  struct Entry {
    Address address;
    dev_t device = 0;
    ino_t inode = 0;
  };
  void remove() noexcept;
  static void remove(const Entry& entry) noexcept;

  std::uint64_t number_ = 0;  ///< the file's number in the registry; 0: no file
  std::uint32_t forks_ = 0;
};

/// Whether a file is a socket of a process that has ended. Nobody connects, so that a server does not notice.
bool is_left_behind(const Address& address);

/// Removes sockets of dead processes; looks at some files only. Hold the lock.
void sweep(const FabricDirectory& directory);

/// Removes the directory, unless it holds a socket of a process that lives.
void leave(const FabricDirectory& directory) noexcept;

}  // namespace pydoca::sim
