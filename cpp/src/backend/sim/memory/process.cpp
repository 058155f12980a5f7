#include "backend/sim/memory/process.hpp"

#include "detail/concat.hpp"
#include "detail/fd.hpp"
#include "detail/system/random.hpp"
#include "detail/system_reason.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <fcntl.h>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

namespace pydoca::sim {

namespace {

using Text = std::array<char, 1024>;

[[noreturn]] void refuse(const char* path, std::string_view why, Status status = Status::operating_system) {
  throw Error(status, detail::concat("exports need /proc, and ", path, " cannot be read", why));
}

/// A short file of /proc. Streams would take a lack of memory for the end of the file.
std::string_view read(const char* path, Text& text) {
  const auto repeat = [](auto call) {
    auto result = call();
    while (result < 0 && errno == EINTR) {
      result = call();
    }
    return result;
  };
  const detail::Fd file(repeat([&] { return ::open(path, O_RDONLY | O_CLOEXEC); }));
  const ssize_t size = file ? repeat([&] { return ::read(file.get(), text.data(), text.size()); }) : -1;
  if (size < 0) {
    const int error = errno;
    refuse(path, detail::concat(": ", detail::system_reason(error)),
           error == ENOENT || error == ESRCH ? Status::not_found : Status::operating_system);
  }
  return {text.data(), static_cast<std::size_t>(size)};
}

std::uint64_t read_start_time(const char* path) {
  Text text;
  std::string_view fields = read(path, text);
  fields.remove_prefix(std::min(fields.rfind(')'), fields.size()));  // the name may hold blanks and parentheses itself
  constexpr int fields_before = 20;  // the state follows the name, as field 3; this is 22
  for (int i = 0; i < fields_before; ++i) {
    fields.remove_prefix(std::min(fields.find(' '), fields.size() - 1) + 1);
  }
  std::uint64_t ticks = 0;
  if (std::from_chars(fields.data(), fields.data() + fields.size(), ticks).ec != std::errc()) {
    refuse(path, "");
  }
  return ticks;
}

}  // namespace

/// "e2995c22-30db-..." as 16 bytes.
Key boot_id() {
  constexpr const char* path = "/proc/sys/kernel/random/boot_id";
  Text text;
  Key key{};
  std::size_t digits = 0;
  for (const char c : read(path, text)) {
    const auto digit = std::string_view("0123456789abcdef").find(c);
    if (digit != std::string_view::npos && digits < 2 * key.size()) {
      key[digits / 2] = key[digits / 2] << 4 | static_cast<std::byte>(digit);
      ++digits;
    }
  }
  if (digits != 2 * key.size()) {
    refuse(path, "");
  }
  return key;
}

std::uint64_t start_time() { return read_start_time("/proc/self/stat"); }

std::uint64_t start_time(pid_t process) {
  std::array<char, 32> path{};
  std::snprintf(path.data(), path.size(), "/proc/%d/stat", process);
  return read_start_time(path.data());
}

std::uint32_t pid_namespace() noexcept {
  struct stat info{};
  return ::stat("/proc/self/ns/pid", &info) == 0 ? static_cast<std::uint32_t>(info.st_ino) : 0;
}

Key random_key() {
  Key key{};
  detail::fill_with_random(key);
  return key;
}

}  // namespace pydoca::sim
