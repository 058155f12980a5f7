#include "backend/sim/memory/process.hpp"

#include "detail/concat.hpp"
#include "detail/system_reason.hpp"

#include <cerrno>
#include <fstream>
#include <sstream>
#include <string>
#include <sys/random.h>
#include <sys/stat.h>

namespace pydoca::sim {

namespace {

/// "e2995c22-30db-..." as 16 bytes.
Key parse_uuid(const std::string& text, int error) {
  Key key{};
  std::size_t digits = 0;
  for (const char c : text) {
    const auto digit = std::string_view("0123456789abcdef").find(c);
    if (digit != std::string_view::npos && digits < 2 * key.size()) {
      key[digits / 2] = key[digits / 2] << 4 | static_cast<std::byte>(digit);
      ++digits;
    }
  }
  if (digits != 2 * key.size()) {
    throw Error(Status::operating_system,
                detail::concat("exports need /proc, and /proc/sys/kernel/random/boot_id cannot be read",
                               error != 0 ? detail::concat(": ", detail::system_reason(error)) : ""));
  }
  return key;
}

}  // namespace

Key boot_id() {
  errno = 0;
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  const int error = errno;
  std::string text;
  std::getline(file, text);
  return parse_uuid(text, error);
}

std::uint64_t start_time() {
  std::ifstream file("/proc/self/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(')');  // the name may hold blanks and parentheses itself
  if (name_end == std::string::npos) {
    return 0;
  }
  constexpr int fields_before = 19;  // state is field 3, the start time field 22
  std::istringstream fields(text.substr(name_end + 1));
  std::string skipped;
  for (int i = 0; i < fields_before; ++i) {
    fields >> skipped;
  }
  std::uint64_t ticks = 0;
  fields >> ticks;
  return ticks;
}

std::uint32_t pid_namespace() noexcept {
  struct stat info{};
  return ::stat("/proc/self/ns/pid", &info) == 0 ? static_cast<std::uint32_t>(info.st_ino) : 0;
}

Key random_key() {
  Key key{};
  if (::getrandom(key.data(), key.size(), 0) != static_cast<ssize_t>(key.size())) {
    throw Error(Status::operating_system, detail::concat("cannot get random numbers: ", detail::system_reason(errno)));
  }
  return key;
}

}  // namespace pydoca::sim
