#include "detail/system/available_memory.hpp"

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace pydoca::detail {

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();

/// The files of one version of control groups.
struct Version {
  const char* directory;
  const char* limit;
  const char* usage;
  const char* reclaimable;  ///< a line of memory.stat: the page cache, which the kernel gives up before it kills
};
constexpr Version first{"memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"};
constexpr Version second{"", "memory.max", "memory.current", "inactive_file"};

/// The file's first number; none where there is no file, or a word such as "max".
std::optional<std::uint64_t> read_number(const fs::path& path) {
  std::ifstream file(path);
  std::uint64_t number = 0;
  return file >> number ? std::optional(number) : std::nullopt;
}

/// The number that follows key; 0 without such a line.
std::uint64_t read_line_of(const fs::path& path, std::string_view key) {
  std::ifstream file(path);
  std::string word;
  std::uint64_t number = 0;
  while (file >> word) {
    if (word == key && file >> number) {
      return number;
    }
  }
  return 0;
}

std::uint64_t left_in_group(const fs::path& group, const Version& version) {
  const auto limit = read_number(group / version.limit);
  const auto usage = read_number(group / version.usage);
  if (!limit.has_value() || !usage.has_value()) {
    return unlimited;
  }
  const std::uint64_t reclaimable = read_line_of(group / "memory.stat", version.reclaimable);
  const std::uint64_t used = *usage - std::min(*usage, reclaimable);
  return *limit - std::min(*limit, used);
}

/// Each group limits those inside it. A container may see its own group as the outermost one.
std::uint64_t left_in_groups(const fs::path& root, const fs::path& group, const Version& version) {
  const fs::path outermost = root / "sys/fs/cgroup" / version.directory;
  std::uint64_t left = left_in_group(outermost, version);
  fs::path inner = outermost;
  for (const fs::path& name : group.relative_path()) {
    inner /= name;
    left = std::min(left, left_in_group(inner, version));
  }
  return left;
}

std::uint64_t left_in_control_groups(const fs::path& root) {
  std::ifstream groups(root / "proc/self/cgroup");
  std::uint64_t left = unlimited;
  for (std::string line; std::getline(groups, line);) {  // number:controllers:group
    const auto controllers = line.find(':');
    const auto group = line.find(':', controllers + 1);
    if (controllers == std::string::npos || group == std::string::npos) {
      continue;
    }
    const std::string names = "," + line.substr(controllers + 1, group - controllers - 1) + ",";
    if (names == ",,") {
      left = std::min(left, left_in_groups(root, line.substr(group + 1), second));
    } else if (names.find(",memory,") != std::string::npos) {
      left = std::min(left, left_in_groups(root, line.substr(group + 1), first));
    }
  }
  return left;
}

std::uint64_t left_in_machine(const fs::path& root) {
  const std::uint64_t kibibytes = read_line_of(root / "proc/meminfo", "MemAvailable:");
  return kibibytes != 0 ? kibibytes * 1024 : unlimited;
}

}  // namespace

std::uint64_t available_memory(const fs::path& root) {
  return std::min(left_in_machine(root), left_in_control_groups(root));
}

}  // namespace pydoca::detail
