#include "pydoca/memory.hpp"

#include "pydoca/interrupt.hpp"
#include "pydoca/status.hpp"

#include "detail/concat.hpp"
#include "detail/fd.hpp"
#include "detail/system/available_memory.hpp"
#include "detail/system_reason.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <limits>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

namespace pydoca {

namespace {

constexpr unsigned huge_page_bits = 21;  // 2 MiB
constexpr std::size_t huge_page = std::size_t{1} << huge_page_bits;
constexpr unsigned huge_page_flags = MFD_HUGETLB | huge_page_bits << 26;  // only kernel headers have MFD_HUGE_2MB

/// Where pydoca memory lies, by start address. Never destroyed: memory may outlive static destructors.
struct Intervals {
  std::shared_mutex mutex;
  std::map<std::uintptr_t, std::weak_ptr<Memory>> by_start;

  static Intervals& instance() {
    static auto* const intervals = new Intervals;
    return *intervals;
  }
};

std::uintptr_t address_of(const void* pointer) noexcept { return reinterpret_cast<std::uintptr_t>(pointer); }

[[noreturn]] void refuse(std::size_t size, std::string_view why) {
  throw Error(Status::no_memory, detail::concat("allocate ", size, " bytes: ", why));
}

std::size_t rounded(std::size_t size, bool huge_pages) {
  const std::size_t page = huge_pages ? huge_page : static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  if (size > static_cast<std::size_t>(std::numeric_limits<off_t>::max()) - page) {
    refuse(size, "no file can be that large");
  }
  return (size + page - 1) / page * page;
}

detail::Fd create_file(std::size_t size, std::size_t mapped, bool huge_pages) {
  const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING | (huge_pages ? huge_page_flags : 0U);
  detail::Fd fd(::memfd_create("pydoca", flags));
  if (!fd || ::ftruncate(fd.get(), static_cast<off_t>(mapped)) != 0) {
    refuse(size, detail::system_reason(errno));
  }
  // A process that maps the file must be able to rely on its size, or an access could end in SIGBUS.
  if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) {
    refuse(size, detail::concat("the file cannot be sealed: ", detail::system_reason(errno)));
  }
  return fd;
}

void touch(std::byte* data, std::size_t size) noexcept {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  for (std::size_t offset = 0; offset < size; offset += page) {
    *static_cast<volatile std::byte*>(data + offset) = std::byte{0};
  }
}

/// Faults every page in; false when the system has none left.
bool populate_piece(std::byte* data, std::size_t size) noexcept {
#ifdef MADV_POPULATE_WRITE
  constexpr int populate_write = MADV_POPULATE_WRITE;
#else
  constexpr int populate_write = 23;  // Linux 5.14; headers may be older than the kernel
#endif
  if (::madvise(data, size, populate_write) == 0) {
    return true;
  }
  if (errno != EINVAL) {
    return false;
  }
  touch(data, size);
  return true;
}

/// success; no_memory, with errno; again: a signal ended it.
Status populate(std::byte* data, std::size_t size) noexcept {
  constexpr std::size_t piece = 4 * huge_page;  // some milliseconds
  for (std::size_t offset = 0; offset < size; offset += piece) {
    if (offset != 0 && interrupted()) {
      return Status::again;
    }
    if (!populate_piece(data + offset, std::min(piece, size - offset))) {
      return Status::no_memory;
    }
  }
  return Status::success;
}

std::byte* map_file(int fd, std::size_t size, std::size_t mapped, bool huge_pages) {
  void* const address = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (address == MAP_FAILED) {
    refuse(size, huge_pages ? "the system has too few 2 MiB pages reserved (/proc/sys/vm/nr_hugepages)"
                            : detail::system_reason(errno));
  }
  auto* const data = static_cast<std::byte*>(address);
  if (!huge_pages) {
    ::madvise(data, mapped, MADV_HUGEPAGE);  // a wish: fewer page-table entries to walk while copying
  }
  const Status status = populate(data, mapped);
  if (status != Status::success) {
    const int error = errno;
    ::munmap(data, mapped);
    if (status == Status::again) {
      throw Error(status, detail::concat("allocate ", size, " bytes: a signal ended it; do it again"));
    }
    refuse(size, detail::concat("the pages cannot be had: ", detail::system_reason(error)));
  }
  return data;
}

bool has_seal(int fd, int seal) noexcept {
  const int seals = ::fcntl(fd, F_GET_SEALS);
  return seals >= 0 && (seals & seal) != 0;
}

}  // namespace

std::shared_ptr<Memory> Memory::allocate(std::size_t size, Options options) {
  if (size == 0) {
    throw Error(Status::invalid_value, "allocate 0 bytes: ask for at least one");
  }
  const std::size_t mapped = rounded(size, options.huge_pages);
  // Huge pages come out of a reservation of their own.
  if (const std::uint64_t available = detail::available_memory(); !options.huge_pages && mapped > available) {
    refuse(size, detail::concat("the system, or this process's control group, has ", available, " left"));
  }
  Intervals& intervals = Intervals::instance();
  std::shared_ptr<Memory> memory(new Memory(size, mapped));  // first, as it frees what follows if that fails
  memory->fd_ = create_file(size, mapped, options.huge_pages).release();
  memory->data_ = map_file(memory->fd_, size, mapped, options.huge_pages);
  const std::unique_lock lock(intervals.mutex);
  intervals.by_start[address_of(memory->data_)] = memory;
  return memory;
}

Memory::Memory(std::size_t size, std::size_t mapped) noexcept : size_(size), mapped_(mapped) {}

Memory::~Memory() {
  if (data_ != nullptr) {
    Intervals& intervals = Intervals::instance();
    // The range goes before it is unmapped: afterwards another thread's memory may lie at the same address.
    const std::unique_lock lock(intervals.mutex);
    intervals.by_start.erase(address_of(data_));
  }
  if (data_ != nullptr) {
    ::munmap(data_, mapped_);
  }
  if (fd_ >= 0) {
    ::close(fd_);
  }
}

void Memory::seal(bool against_writes) {
  if (!is_sealed() && ::fcntl(fd_, F_ADD_SEALS, F_SEAL_SEAL | (against_writes ? F_SEAL_FUTURE_WRITE : 0)) != 0) {
    throw Error(Status::operating_system,
                detail::concat("seal memory of ", size_, " bytes: ", detail::system_reason(errno)));
  }
}

bool Memory::is_sealed() const noexcept { return has_seal(fd_, F_SEAL_SEAL); }
bool Memory::is_sealed_against_writes() const noexcept { return has_seal(fd_, F_SEAL_FUTURE_WRITE); }

std::optional<MemoryLocation> find_memory(const void* addr, std::size_t size) {
  const std::uintptr_t start = address_of(addr);
  Intervals& intervals = Intervals::instance();
  std::shared_ptr<Memory> memory;
  {
    const std::shared_lock lock(intervals.mutex);
    auto next = intervals.by_start.upper_bound(start);
    if (next == intervals.by_start.begin()) {
      return std::nullopt;
    }
    memory = std::prev(next)->second.lock();
  }
  if (memory == nullptr) {
    return std::nullopt;
  }
  const std::uint64_t offset = start - address_of(memory->data());
  if (size > memory->size() || offset > memory->size() - size) {
    return std::nullopt;
  }
  return MemoryLocation{std::move(memory), offset};
}

}  // namespace pydoca
