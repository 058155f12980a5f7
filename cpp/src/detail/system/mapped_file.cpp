#include "detail/system/mapped_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <sys/ioctl.h>
#include <unistd.h>

namespace pydoca::detail {

namespace {

struct CloseFile {
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;
using Name = std::array<char, 4096>;

struct Span {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;  ///< past the last byte
};

/// struct procmap_query of Linux 6.11; headers may be older than the kernel.
struct MapQuery {
  std::uint64_t size = sizeof(MapQuery);
  std::uint64_t flags = 0;
  std::uint64_t addr = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::array<std::uint64_t, 3> protection_page_offset{};
  std::uint64_t inode = 0;
  std::array<std::uint32_t, 2> device{};
  std::uint32_t name_size = 0;
  std::uint32_t build_id_size = 0;
  std::uint64_t name = 0;
  std::uint64_t build_id = 0;
};

constexpr auto query_map = _IOWR('f', 17, MapQuery);
constexpr std::uint64_t this_or_next = 0x10;
constexpr std::uint64_t files_only = 0x20;

/// The kernel has files of its own behind memory that processes share, and behind huge pages; no process can cut them.
bool is_kernels_own(std::string_view name) noexcept {
  return name.starts_with("/dev/zero (deleted)") || name.starts_with("/anon_hugepage") || name.starts_with("/SYSV");
}

/// Empty: the kernel has no such question.
std::optional<bool> ask(int maps, Span span) noexcept {
  Name name{};
  while (span.begin < span.end) {
    MapQuery query;
    query.flags = this_or_next | files_only;
    query.addr = span.begin;
    query.name = reinterpret_cast<std::uint64_t>(name.data());
    query.name_size = name.size();
    if (::ioctl(maps, query_map, &query) != 0) {
      return errno == ENOENT || errno == ENAMETOOLONG ? std::optional(errno == ENAMETOOLONG) : std::nullopt;
    }
    if (query.begin >= span.end) {
      return false;
    }
    if (!is_kernels_own(name.data())) {
      return true;
    }
    span.begin = query.end;
  }
  return false;
}

/// Takes a number, and the character behind it, from the front of text; 0 where there is none.
std::uint64_t take_number(std::string_view& text, int base) noexcept {
  std::uint64_t number = 0;
  const char* const end = std::from_chars(text.data(), text.data() + text.size(), number, base).ptr;
  text.remove_prefix(std::min(static_cast<std::size_t>(end - text.data()) + 1, text.size()));
  return number;
}

void skip_blanks(std::string_view& text) noexcept {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
}

void skip_field(std::string_view& text) noexcept {
  text.remove_prefix(std::min(text.find(' '), text.size()));
  skip_blanks(text);
}

/// A line is "7f10-7f20 rw-s 00000000 00:01 1024   /memfd:name (deleted)"; memory without a file has the inode 0.
bool is_file_in(std::string_view line, Span span) noexcept {
  const std::uint64_t begin = take_number(line, 16);
  const std::uint64_t end = take_number(line, 16);
  for (int field = 0; field < 3; ++field) {  // permissions, offset, device
    skip_field(line);
  }
  const std::uint64_t inode = take_number(line, 10);
  skip_blanks(line);
  return inode != 0 && std::max(begin, span.begin) < std::min(end, span.end) && !is_kernels_own(line);
}

bool read_lines(std::FILE* maps, Span span) noexcept {
  std::array<char, 2 * Name().size()> line{};
  while (std::fgets(line.data(), line.size(), maps) != nullptr) {
    if (is_file_in(line.data(), span)) {
      return true;
    }
  }
  return false;
}

/// Where malloc's main heap begins, as field 47 of a file of /proc says; the greatest address where it does not.
std::uint64_t find_heap() noexcept {
  constexpr int fields_before = 44;  // counted behind the program's name, which may have blanks
  std::array<char, 2048> text{};
  const File stat(std::fopen("/proc/self/stat", "re"));
  const std::size_t size = stat != nullptr ? std::fread(text.data(), 1, text.size(), stat.get()) : 0;
  std::string_view rest(text.data(), size);
  rest.remove_prefix(std::min(rest.rfind(')'), rest.size()));
  for (int field = 0; field <= fields_before; ++field) {
    skip_field(rest);
  }
  const std::uint64_t begin = take_number(rest, 10);
  return begin != 0 ? begin : std::numeric_limits<std::uint64_t>::max();
}

/// Most small objects are there, and the question costs a multiple of what else their registration does.
bool is_in_heap(Span span) noexcept {
  static const std::uint64_t begin = find_heap();
  return span.begin >= begin && span.end <= reinterpret_cast<std::uint64_t>(::sbrk(0));
}

}  // namespace

bool has_mapped_file(const std::byte* addr, std::size_t len, const char* maps) noexcept {
  const auto begin = reinterpret_cast<std::uint64_t>(addr);
  const Span span{begin, begin + len};
  if (is_in_heap(span)) {
    return false;
  }
  const File file(std::fopen(maps, "re"));
  if (file == nullptr) {
    return false;
  }
  const std::optional<bool> answer = ask(::fileno(file.get()), span);
  return answer.has_value() ? *answer : read_lines(file.get(), span);
}

}  // namespace pydoca::detail
