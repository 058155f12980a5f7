#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#pragma GCC visibility push(default)

namespace pydoca {

/// Page-aligned, pre-faulted, zero-filled memory that another process can be given without a copy: an unnamed file
/// (memfd, sealed against resizing) mapped shared. It vanishes with the last process that holds it.
class Memory {
 public:
  struct Options {
    bool huge_pages = false;  ///< 2 MiB pages; throws no_memory when the system has none reserved.
  };

  /// size in bytes, > 0 (invalid_value). Any thread may call it, as find_memory(). Throws no_memory when the system
  /// refuses, again when a signal ended it.
  static std::shared_ptr<Memory> allocate(std::size_t size, Options options);
  static std::shared_ptr<Memory> allocate(std::size_t size) { return allocate(size, Options{}); }

  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  std::byte* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  /// The memfd; owned by this object.
  int fd() const noexcept { return fd_; }

  /// Fixes the file's seals, before another process gets the file: that process could add seals against its owner.
  /// against_writes: no process can make a new writable mapping of the file; existing mappings stay writable. The first
  /// call decides. Throws operating_system.
  void seal(bool against_writes);
  bool is_sealed() const noexcept;
  bool is_sealed_against_writes() const noexcept;

 private:
  Memory(std::size_t size, std::size_t mapped) noexcept;

  int fd_ = -1;
  std::byte* data_ = nullptr;
  std::size_t size_;
  std::size_t mapped_;
};

/// Where a range of this process lies in pydoca memory.
struct MemoryLocation {
  std::shared_ptr<Memory> memory;
  std::uint64_t offset = 0;
};

/// The pydoca memory that holds all of [addr, addr + size), if there is one.
std::optional<MemoryLocation> find_memory(const void* addr, std::size_t size);

}  // namespace pydoca

#pragma GCC visibility pop
