#include "backend/sim/fabric/directory.hpp"

#include "pydoca/interrupt.hpp"

#include "detail/concat.hpp"
#include "detail/system_reason.hpp"
#include "detail/wait_limit.hpp"

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <optional>
#include <sys/file.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace pydoca::sim {
namespace {

using detail::concat;
using detail::Fd;

constexpr std::string_view own_directory_advice = "set PYDOCA_FABRIC_DIR, on both sides, to a directory of yours";

[[noreturn]] void throw_system(std::string_view attempt, int error) {
  throw Error(Status::operating_system, concat(attempt, ": ", detail::system_reason(error)));
}

/// The usual place may be missing, read-only or full, as /tmp in containers.
[[noreturn]] void refuse_place(std::string_view attempt, int error) {
  throw Error(Status::operating_system,
              concat(attempt, ": ", detail::system_reason(error), "; ", own_directory_advice));
}

void require_own(std::string_view what, const std::string& path, const struct stat& info) {
  if (info.st_uid != ::geteuid()) {
    throw Error(Status::not_permitted, concat(what, path, " belongs to user ", info.st_uid, ", not to ", ::geteuid(),
                                              "; ", own_directory_advice));
  }
}

void require_private(const std::string& path, const struct stat& info) {
  require_own("the fabric's directory ", path, info);
  if (!S_ISDIR(info.st_mode)) {
    throw Error(Status::not_permitted, concat("the fabric's directory ", path, " is not a directory; remove it"));
  }
  if ((info.st_mode & 077U) != 0) {
    throw Error(Status::not_permitted,
                concat("the fabric's directory ", path, " is open to other users; run: chmod 700 ", path));
  }
}

/// Never follows a link: another user's link could lead to that user's directory. Empty when the directory was removed
/// meanwhile.
Fd open_private(int parent, const std::string& name, const std::string& path) {
  if (::mkdirat(parent, name.c_str(), 0700) != 0 && errno != EEXIST) {
    refuse_place(concat("cannot create the fabric's directory ", path), errno);
  }
  struct stat info{};
  Fd fd(::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  const int error = errno;
  const bool is_gone = !fd && error == ENOENT;  // another may have made it again since
  if (is_gone || (fd ? ::fstat(fd.get(), &info) : ::fstatat(parent, name.c_str(), &info, AT_SYMLINK_NOFOLLOW)) != 0) {
    return {};
  }
  require_private(path, info);
  if (!fd) {
    throw_system(concat("cannot open the fabric's directory ", path), error);
  }
  return fd;
}

Fd open_private_surely(int parent, const std::string& name, const std::string& path) {
  for (int attempt = 0; attempt < 100; ++attempt) {
    if (Fd fd = open_private(parent, name, path)) {
      return fd;
    }
  }
  throw Error(Status::operating_system, concat("the fabric's directory ", path, " is removed again and again"));
}

void require_fabric_name(std::string_view fabric) {
  if (fabric.empty() || fabric == "." || fabric == ".." ||
      fabric.find_first_of(std::string_view("/\0", 2)) != fabric.npos) {
    throw Error(Status::invalid_value, concat("\"", fabric, "\" cannot be a fabric's name"));
  }
}

bool is_own_directory(const char* path) {
  struct stat info{};
  return ::stat(path, &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == ::geteuid();
}

/// Containers may share it, so that it must not be one that other users write to.
std::string chosen_directory(std::string path) {
  if (path.front() != '/') {
    throw Error(Status::invalid_value, concat("PYDOCA_FABRIC_DIR is \"", path, "\"; it must be an absolute path"));
  }
  while (path.size() > 1 && path.back() == '/') {
    path.pop_back();
  }
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) {
    throw Error(Status::invalid_value,
                concat("PYDOCA_FABRIC_DIR is ", path, ", which cannot be used: ", detail::system_reason(errno),
                       "; make the directory, or mount it into this container"));
  }
  if (!S_ISDIR(info.st_mode)) {
    throw Error(Status::invalid_value, concat("PYDOCA_FABRIC_DIR is ", path, ", which is not a directory"));
  }
  require_own("PYDOCA_FABRIC_DIR: ", path, info);
  if ((info.st_mode & 022U) != 0) {
    throw Error(Status::not_permitted,
                concat("PYDOCA_FABRIC_DIR: other users can write to ", path, "; run: chmod 700 ", path));
  }
  return path;
}

/// Whether the path still leads to the open directory, which others may have removed and made anew.
bool is_current(int directory, const std::string& path) noexcept {
  struct stat opened{};
  struct stat named{};
  return ::fstat(directory, &opened) == 0 && ::lstat(path.c_str(), &named) == 0 && opened.st_dev == named.st_dev &&
         opened.st_ino == named.st_ino;
}

}  // namespace

FabricDirectory::FabricDirectory(std::string_view fabric) : name_(fabric) {
  require_fabric_name(fabric);
  const char* const chosen = std::getenv("PYDOCA_FABRIC_DIR");
  const char* const runtime = std::getenv("XDG_RUNTIME_DIR");
  if (chosen != nullptr && *chosen != '\0') {
    root_ = chosen_directory(chosen);
  } else if (runtime != nullptr && runtime[0] == '/' && is_own_directory(runtime)) {
    root_ = runtime;
    first_ = "pydoca";
  } else {
    root_ = "/tmp";
    first_ = concat("pydoca-", ::geteuid());
  }
  parent_ = first_.empty() ? root_ : concat(root_, '/', first_);
  path_ = concat(parent_, '/', name_);
}

Fd FabricDirectory::open_parent() const {
  Fd root(::open(root_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root) {
    refuse_place(concat("cannot open ", root_), errno);
  }
  return first_.empty() ? std::move(root) : open_private_surely(root.get(), first_, parent_);
}

Fd FabricDirectory::open() const {
  const Fd parent = open_parent();
  return open_private_surely(parent.get(), name_, path_);
}

void FabricDirectory::announce() const {
  const Fd directory = open();
  if (::futimens(directory.get(), nullptr) != 0) {
    throw_system(concat("cannot touch the fabric's directory ", path_), errno);
  }
}

bool FabricLock::try_lock(const FabricDirectory& directory) {
  Fd fd = directory.open();
  // A call that sleeps could not be ended: the holder may have been stopped by a signal.
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      throw_system(concat("cannot lock ", directory.path()), errno);
    }
    return false;
  }
  if (!is_current(fd.get(), directory.path())) {
    ::flock(fd.get(), LOCK_UN);
    return false;
  }
  directory_ = std::move(fd);
  return true;
}

void FabricLock::lock(const FabricDirectory& directory) {
  constexpr std::chrono::seconds patience(5);
  static constexpr std::chrono::microseconds pause(200);
  for (detail::WaitLimit limit(patience); !try_lock(directory);) {
    if (const Status waiting = limit.check(); waiting != Status::success) {
      throw Error(waiting, concat("a process keeps ", directory.path(), " locked; look for a stopped one (fuser ",
                                  directory.path(), ")", waiting == Status::again ? "; a signal ended the wait" : ""));
    }
    run_blocking([]() noexcept { std::this_thread::sleep_for(pause); });
  }
}

/// Closing is not enough: a child that was forked meanwhile has a copy of the descriptor, and would keep the lock.
FabricLock::~FabricLock() {
  if (directory_) {
    ::flock(directory_.get(), LOCK_UN);
  }
}

}  // namespace pydoca::sim
