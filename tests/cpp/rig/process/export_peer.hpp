#pragma once

#include "pydoca/backend/memory.hpp"
#include "pydoca/device.hpp"
#include "pydoca/memory.hpp"

#include "backend/sim/memory/region.hpp"
#include "rig/process/peer_process.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace pydoca {

/// Memory and its region on a host function, as a test or its peer exports it.
class ExportedMemory {
 public:
  enum class Source : std::uint8_t { pydoca, foreign };

  ExportedMemory(Source source, std::size_t size, Access access, const char* device = "pf0");
  /// Does not withdraw: the region must handle that itself.
  ~ExportedMemory() = default;

  std::span<std::byte> bytes() const noexcept { return bytes_; }
  const std::vector<std::byte>& blob() const noexcept { return blob_; }
  Status withdraw() { return region_->withdraw(); }
  backend::MemoryRegion& region() { return *region_; }
  std::shared_ptr<Memory> memory() const { return memory_; }

 private:
  DeviceUse device_;
  std::shared_ptr<Memory> memory_;
  std::vector<std::byte> heap_;
  std::span<std::byte> bytes_;
  std::unique_ptr<backend::MemoryRegion> region_;
  std::vector<std::byte> blob_;
};

/// An import of it, and the accesses that a copy engine makes.
class ImportedMemory {
 public:
  explicit ImportedMemory(std::span<const std::byte> blob, const char* device = "p0");

  sim::Region& region() { return *region_; }
  sim::RevocationPage& revocation_page() { return *region_->revocation_page(); }
  std::uint64_t base() const noexcept { return base_; }
  std::uint64_t size() const noexcept { return size_; }
  Access access() const noexcept { return access_; }
  /// Reads through the revocation page; io_failed when the revocation page is closed or the system refuses.
  Status read(std::uint64_t offset, std::byte& value);
  Status write(std::uint64_t offset, std::byte value);

 private:
  DeviceUse device_;
  std::unique_ptr<sim::Region> region_;
  std::uint64_t base_ = 0;
  std::uint64_t size_ = 0;
  Access access_{};
};

/// The operations of a peer of export_test; each operation answers with a message whose a is a Status or a number.
namespace peer_op {
inline constexpr char make = 'x';  ///< a: Access, b: size; payload "pydoca" or "foreign". Answers with the blob
inline constexpr char withdraw = 'w';
inline constexpr char drop = 'd';    ///< destroys export and import
inline constexpr char peek = 'c';    ///< the export's own byte at a
inline constexpr char import = 'i';  ///< payload: blob. Answers with the error's text
inline constexpr char enter = 'e';   ///< 1: inside
inline constexpr char leave = 'l';
inline constexpr char read = 'r';   ///< the byte at a; the answer has it in b
inline constexpr char write = 'p';  ///< b at a
inline constexpr char count_fds = 'f';
inline constexpr char fork = 'k';  ///< forks a child that lives until it is killed; its id
inline constexpr char quit = 'q';
}  // namespace peer_op

/// Serves until told to quit.
void serve_as_export_peer(int socket);

}  // namespace pydoca
