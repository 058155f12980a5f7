#include "backend/sim/memory/prefault.hpp"

#include "pydoca/interrupt.hpp"
#include "pydoca/status.hpp"

#include "detail/concat.hpp"
#include "detail/system_reason.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <utility>

namespace pydoca::sim {

namespace {

// Linux 5.14; headers may be older than the kernel.
constexpr int populate_read = 22;
constexpr int populate_write = 23;

struct Span {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;  // past the last byte
};

/// What /proc/self/maps says of a span.
struct Mapping {
  bool complete = false;
  bool readable = true;
  bool writable = true;
  std::string full;  ///< a file that is long enough, on a file system without a free block; empty: none
};

/// Whether a mapped file has so many bytes, and its file system no free block for them. A name that another file has
/// meanwhile says nothing wrong: the error then only guesses less.
bool is_on_full_system(const std::string& path, std::uint64_t size) {
  struct stat file{};
  struct statvfs system{};
  return ::stat(path.c_str(), &file) == 0 && std::cmp_greater_equal(file.st_size, size) &&
         ::statvfs(path.c_str(), &system) == 0 && system.f_bavail == 0;
}

Mapping look_up(Span span) {
  std::ifstream maps("/proc/self/maps");
  Mapping mapping;
  std::string line;
  while (!mapping.complete && std::getline(maps, line)) {
    std::istringstream fields(line);
    Span area;
    char dash = 0;
    std::string permissions;
    std::uint64_t offset = 0;
    std::string device;
    std::string inode;
    std::string path;
    fields >> std::hex >> area.begin >> dash >> area.end >> permissions >> offset >> device >> inode >> path;
    if (permissions.size() < 2 || area.end <= span.begin) {
      continue;
    }
    if (area.begin > span.begin) {
      break;  // a hole
    }
    mapping.readable &= permissions[0] == 'r';
    mapping.writable &= permissions[1] == 'w';
    mapping.complete = area.end >= span.end;
    if (path.starts_with('/') && is_on_full_system(path, offset + (std::min(area.end, span.end) - area.begin))) {
      mapping.full = path;
    }
    span.begin = area.end;
  }
  return mapping;
}

Span pages_of(const std::byte* addr, std::size_t len) noexcept {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto start = reinterpret_cast<std::uintptr_t>(addr);
  return {start / page * page, start + len};
}

/// Faulting pages in takes about 0.2 s a GiB; a signal does not wait so long.
constexpr std::size_t piece = std::size_t{8} << 20;

/// 0 or an errno.
int populate_piece(Span span, int advice) noexcept {
  constexpr int attempts = 100;  // signals and contention interrupt it
  for (int i = 0; i < attempts; ++i) {
    if (::madvise(reinterpret_cast<void*>(span.begin), span.end - span.begin, advice) == 0) {
      return 0;
    }
    if (errno != EINTR && errno != EAGAIN) {
      break;
    }
  }
  return errno;
}

/// 0 or an errno. Throws again when a signal ended it.
int populate(Span span, int advice) {
  int error = 0;
  for (Span part = span; error == 0 && part.begin < span.end; part.begin = part.end) {
    part.end = part.begin + std::min<std::size_t>(piece, span.end - part.begin);
    error = populate_piece(part, advice);
    if (part.end != span.end && interrupted()) {
      throw Error(Status::again, "register memory: a signal ended it; do it again");
    }
  }
  return error;
}

[[noreturn]] void explain(Span span, int error, bool writable) {
  const std::string what =
      detail::concat("register memory ", detail::hex(span.begin), "..", detail::hex(span.end), ": ");
  const Mapping mapping = look_up(span);
  if (!mapping.complete || !mapping.readable) {
    throw Error(Status::invalid_value, what + "part of it is not mapped, or may not be read");
  }
  if (writable && !mapping.writable) {
    throw Error(Status::not_permitted, what + "it is read-only; ask for read-only permissions, or give a copy");
  }
  if (error == ENOMEM) {
    throw Error(Status::no_memory, what + "the system has no pages left for it");
  }
  if (!mapping.full.empty()) {
    throw Error(Status::no_memory, detail::concat(what, "no space is left for its pages on the file system of ",
                                                  mapping.full, "; free some there, or give memory of another place"));
  }
  throw Error(Status::invalid_value, detail::concat(what, "it cannot be faulted in (", detail::system_reason(error),
                                                    "); is it a file that has become shorter?"));
}

}  // namespace

void prefault(std::byte* addr, std::size_t len, bool writable) {
  if (len == 0 || len > std::numeric_limits<std::uintptr_t>::max() - reinterpret_cast<std::uintptr_t>(addr)) {
    throw Error(Status::invalid_value, detail::concat("register ", len, " bytes at ", detail::hex(addr),
                                                      ": this is not a range of addresses"));
  }
  const Span span = pages_of(addr, len);
  const int error = populate(span, writable ? populate_write : populate_read);
  if (error == 0) {
    return;
  }
  if (error == EINVAL) {
    const Mapping mapping = look_up(span);
    if (mapping.complete && mapping.readable && (mapping.writable || !writable)) {
      return;  // an older kernel, or a driver's mapping: it works, but the first access may be slow
    }
  }
  explain(span, error, writable);
}

}  // namespace pydoca::sim
