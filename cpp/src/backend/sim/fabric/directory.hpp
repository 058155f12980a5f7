#pragma once

#include "pydoca/status.hpp"

#include "detail/fd.hpp"

#include <string>
#include <string_view>

/// Where the processes of one simulated fabric find one another: a directory that only this user can enter. Their
/// sockets are files there, and its modification announces a new server.
namespace pydoca::sim {

/// The directory of a fabric, as the environment says where it is: $PYDOCA_FABRIC_DIR/<fabric> if that variable is set,
/// else $XDG_RUNTIME_DIR/pydoca/<fabric> if that one names a directory of this user, else /tmp/pydoca-<uid>/<fabric>.
class FabricDirectory {
 public:
  /// Creates nothing. Throws invalid_value for an impossible name, and when PYDOCA_FABRIC_DIR is not the absolute path
  /// of a directory; not_permitted when that directory is another user's or others can write to it.
  explicit FabricDirectory(std::string_view fabric);

  const std::string& path() const noexcept { return path_; }
  /// Holds the directories of all fabrics; never removed.
  const std::string& parent() const noexcept { return parent_; }

  /// Opens it; creates it if need be. Each level below what the environment names is a real directory of this user with
  /// mode 0700. Throws not_permitted when another user could have made it or can read it, operating_system otherwise.
  detail::Fd open() const;
  /// Announces a new server to the processes that watch the directory (inotify, IN_ATTRIB). Throws as open() does.
  void announce() const;

 private:
  detail::Fd open_parent() const;

  std::string root_;   ///< is trusted unchecked, unless the user has chosen it for this
  std::string first_;  ///< pydoca's directory in root_; empty: root_ itself
  std::string name_;
  std::string parent_;
  std::string path_;
};

/// Lets one process at a time replace the sockets that dead processes have left in a fabric. A lock on the directory
/// itself. If the directory was removed meanwhile, the lock is worthless, and the process tries again with the new one.
class FabricLock {
 public:
  FabricLock() = default;
  ~FabricLock();
  FabricLock(const FabricLock&) = delete;
  FabricLock& operator=(const FabricLock&) = delete;

  /// Waits 5 s at most, in run_blocking(). Throws time_out, again when a signal ended the wait, or as
  /// FabricDirectory::open() does.
  void lock(const FabricDirectory& directory);
  /// False: another process has it. Throws as FabricDirectory::open() does.
  bool try_lock(const FabricDirectory& directory);

 private:
  detail::Fd directory_;
};

}  // namespace pydoca::sim
