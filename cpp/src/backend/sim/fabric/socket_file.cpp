#include "backend/sim/fabric/socket_file.hpp"

#include "detail/thread/per_process.hpp"
#include "detail/thread/thread_token.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <dirent.h>
#include <exception>
#include <fcntl.h>
#include <map>
#include <memory>
#include <mutex>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace pydoca::sim {

using detail::Fd;

SocketName::SocketName(const Address& address) noexcept {
  const std::string& directory = address.directory.path();
  name_.sun_family = AF_UNIX;
  if (directory.size() + 1 + address.file.size() <= max_path) {
    write({directory, "/", address.file});
    return;
  }
  directory_ = Fd(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  error_ = directory_ ? 0 : errno;
  std::array<char, 12> number;
  const char* const end = std::to_chars(number.data(), number.data() + number.size(), directory_.get()).ptr;
  write({"/proc/self/fd/", std::string_view(number.data(), end), "/", address.file});
}

void SocketName::write(std::initializer_list<std::string_view> parts) noexcept {
  char* next = name_.sun_path;
  for (const std::string_view part : parts) {
    next = std::ranges::copy(part, next).out;
  }
}

/// The files of this process, and the directories that it uses, for exit().
class SocketFile::Registry {
 public:
  static Registry& instance() {
    static const int at_exit = std::atexit([] { instance().leave_all(); });
    static_cast<void>(at_exit);
    return detail::PerProcess<Registry>::instance();
  }

  std::uint64_t add(Entry entry) {
    const std::lock_guard lock(mutex_);
    entries_.emplace(++last_, std::move(entry));
    return last_;
  }
  auto take(std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    return entries_.extract(number);
  }
  void leave_at_exit(const FabricDirectory& directory) {
    const std::lock_guard lock(mutex_);
    directories_.try_emplace(directory.path(), directory);
  }
  template <class Condition>
  void remove_if(Condition condition) noexcept {
    const std::lock_guard lock(mutex_);
    std::erase_if(entries_, [&](const auto& numbered) {
      const bool removed = condition(numbered.second);
      if (removed) {
        SocketFile::remove(numbered.second);
      }
      return removed;
    });
  }

 private:
  void leave_all() noexcept {
    remove_if([](const Entry&) { return true; });
    const std::lock_guard lock(mutex_);
    for (const auto& [path, directory] : directories_) {
      leave(directory);
    }
  }

  std::mutex mutex_;
  std::map<std::uint64_t, Entry> entries_;
  std::map<std::string, FabricDirectory> directories_;  ///< by path
  std::uint64_t last_ = 0;
};

SocketFile::SocketFile(const Address& address) : forks_(detail::fork_count()) {
  struct stat info{};
  if (::lstat(address.path().c_str(), &info) == 0) {
    number_ = Registry::instance().add({address, info.st_dev, info.st_ino});
  }
}

SocketFile::~SocketFile() { remove(); }

void SocketFile::remove() noexcept {
  if (number_ != 0 && forks_ == detail::fork_count()) {
    if (const auto node = Registry::instance().take(number_); !node.empty()) {
      remove(node.mapped());
    }
  }
}

SocketFile::SocketFile(SocketFile&& other) noexcept : number_(std::exchange(other.number_, 0)), forks_(other.forks_) {}

SocketFile& SocketFile::operator=(SocketFile&& other) noexcept {
  if (this != &other) {
    remove();
    number_ = std::exchange(other.number_, 0);
    forks_ = other.forks_;
  }
  return *this;
}

/// Leaves a file that has taken its place, when the directory was removed.
void SocketFile::remove(const Entry& entry) noexcept {
  try {
    const std::string path = entry.address.path();
    struct stat info{};
    if (::lstat(path.c_str(), &info) == 0 && info.st_dev == entry.device && info.st_ino == entry.inode) {
      ::unlink(path.c_str());
    }
    leave(entry.address.directory);
  } catch (const std::bad_alloc&) {  // the next process that comes sweeps it
  }
}

void SocketFile::remove_all(const FabricDirectory& directory) noexcept {
  Registry::instance().remove_if(
      [&](const Entry& entry) { return entry.address.directory.path() == directory.path(); });
}

void SocketFile::leave_at_exit(const FabricDirectory& directory) noexcept {
  try {
    Registry::instance().leave_at_exit(directory);
  } catch (const std::exception&) {  // what stays is swept by the next process that comes or leaves
  }
}

bool is_left_behind(const Address& address) {
  struct stat info{};
  if (::lstat(address.path().c_str(), &info) != 0 || !S_ISSOCK(info.st_mode)) {
    return false;
  }
  // The kernel looks for the socket first and compares the type then: a bound socket answers EPROTOTYPE.
  const Fd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const SocketName name(address);
  return probe && name.error() == 0 && ::connect(probe.get(), name.get(), SocketName::length) != 0 &&
         errno == ECONNREFUSED;
}

void sweep(const FabricDirectory& directory) {
  constexpr int max_files = 128;
  const std::unique_ptr<DIR, int (*)(DIR*)> files(::opendir(directory.path().c_str()), &::closedir);
  Address address{directory, ""};
  for (int i = 0; files != nullptr && i < max_files; ++i) {
    const dirent* const entry = ::readdir(files.get());
    if (entry == nullptr) {
      return;
    }
    address.file = entry->d_name;
    if (is_left_behind(address)) {
      ::unlink(address.path().c_str());
    }
  }
}

void leave(const FabricDirectory& directory) noexcept {
  if (::rmdir(directory.path().c_str()) == 0 || errno == ENOENT) {
    return;
  }
  try {
    FabricLock lock;
    if (lock.try_lock(directory)) {
      sweep(directory);
    }
  } catch (...) {  // what stays is swept by the next process that comes or leaves
  }
  ::rmdir(directory.path().c_str());
}

}  // namespace pydoca::sim
