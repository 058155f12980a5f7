#include "backend/verbs/library/opened_by_library.hpp"

#include "detail/concat.hpp"
#include "detail/fd.hpp"

#include <array>
#include <fcntl.h>
#include <string_view>
#include <unistd.h>

namespace pydoca::verbs {

namespace {

/// Unless fd is another file by now.
void replace_by_null(int fd, std::string_view file) noexcept {
  std::array<char, 64> target{};
  const std::string link = detail::concat("/proc/self/fd/", fd);
  const ssize_t size = ::readlink(link.c_str(), target.data(), target.size());
  const detail::Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (size > 0 && null && std::string_view(target.data(), static_cast<std::size_t>(size)).starts_with(file)) {
    ::dup3(null.get(), fd, O_CLOEXEC);
  }
}

}  // namespace

OpenedByLibrary& OpenedByLibrary::instance() {
  static auto* const opened = new OpenedByLibrary;
  return *opened;
}

void OpenedByLibrary::add(const ibv_context& context) {
  const std::lock_guard lock(mutex_);
  files_[static_cast<const char*>(context.device->name)] = {context.cmd_fd, context.async_fd};
}

void OpenedByLibrary::replace(const std::string& device) {
  const std::lock_guard lock(mutex_);
  if (const auto found = files_.find(device); found != files_.end()) {
    replace_by_null(found->second.commands, "/dev/infiniband/uverbs");
    replace_by_null(found->second.events, "anon_inode:[infinibandevent]");
    files_.erase(found);
  }
}

}  // namespace pydoca::verbs
