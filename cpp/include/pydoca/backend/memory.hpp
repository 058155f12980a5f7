#pragma once

#include "pydoca/memory.hpp"
#include "pydoca/segment.hpp"
#include "pydoca/status.hpp"
#include "pydoca/types.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace pydoca::backend {

/// Memory as one device sees it, registered or imported. A memory map owns it and uses it in one thread at a time;
/// queues of the device reach it through the segments of their operations.
class MemoryRegion {
 public:
  virtual ~MemoryRegion() = default;

  /// Makes the region known to the other side of the PCIe link and describes it in a blob of < 512 bytes. access holds
  /// exactly one PCI flag. Throws not_supported.
  virtual std::vector<std::byte> export_pci(Access access);
  /// The same for a network peer. access holds at least one RDMA flag, and no other.
  virtual std::vector<std::byte> export_rdma(Access access);
  /// The key by which rdma-core's requests name the region, for local and remote access. Throws not_supported.
  virtual std::uint32_t mkey() const;

  /// Why it cannot be reached any more, as "its owner ..." or "the mapped file ..."; empty while it can be reached, and
  /// where the device cannot tell.
  virtual std::string_view lost() const noexcept { return {}; }

  /// Withdraws every export and waits for the remote accesses that have begun. again: a peer's access has not ended in
  /// time, or a signal ended the wait (interrupted()). The exports are withdrawn nevertheless, and another call waits
  /// again. If a region is destroyed before a call succeeded, its memory is leaked: a peer could still write into it.
  virtual Status withdraw() noexcept { return Status::success; }
};

/// Memory of this process that is to be registered.
struct MemoryRange {
  std::byte* addr = nullptr;
  std::size_t len = 0;                     ///< bytes
  std::optional<MemoryLocation> location;  ///< set when the range lies in pydoca memory
};

/// What an import gives.
struct ImportedRegion {
  std::unique_ptr<MemoryRegion> region;
  std::uint64_t addr = 0;  ///< the exporter's address of it
  std::uint64_t len = 0;   ///< bytes
  Access access{};         ///< what the exporter permits
};

}  // namespace pydoca::backend
