#pragma once

#include "pydoca/backend/device.hpp"
#include "pydoca/backend/memory.hpp"

#include "backend/sim/import/import_attempt.hpp"
#include "backend/sim/import/imported_region.hpp"
#include "backend/sim/memory/blob.hpp"
#include "backend/sim/place/place.hpp"

#include <array>
#include <memory>
#include <span>

namespace pydoca::sim {

/// Begins to ask the owner of a blob of that type, but for an inbox's. The errors are those of the imports below.
std::shared_ptr<OwnerAnswer> ask_owner(const Place& place, std::span<const std::byte> blob, BlobType type);

/// The memory that a blob describes. Throws as backend::Device::import_memory does; time_out when the owner does not
/// answer, again when a signal ended the wait for it. answer: that of ask_owner() with the same arguments; null:
/// asks the owner itself. It waits for what the answer still lacks.
/// type: memory or net_memory.
backend::ImportedRegion import_region(const Place& place, std::span<const std::byte> blob, BlobType type,
                                      const std::shared_ptr<backend::ImportAnswer>& answer);

/// A counter's memory, with the files that belong to it: its doorbell, and the socket for wake-ups.
struct ImportedCounterMemory {
  std::unique_ptr<ImportedRegion> region;
  std::uint64_t addr = 0;  ///< the counter's address in the region
  std::uint64_t origin = 0;
  std::array<detail::Fd, 2> files;
  detail::Fd connection;  ///< to the owner, for wake bytes
};
/// The same for a counter, type pci_counter or net_counter.
ImportedCounterMemory import_counter_memory(const Place& place, std::span<const std::byte> blob, BlobType type,
                                            const std::shared_ptr<backend::ImportAnswer>& answer, OwnersEnd owners_end);

/// A queue pair's inbox, with the files that belong to it.
struct ImportedInbox {
  std::unique_ptr<ImportedRegion> region;
  std::uint64_t addr = 0;  ///< the inbox's place in the region
  std::uint64_t size = 0;
  std::uint64_t origin = 0;
  std::array<detail::Fd, 2> files;
};
/// Begins to ask the owner of an inbox: of its context's mailbox, and the socket for wake-ups. asked: of an earlier
/// call with the same arguments, which is returned.
std::shared_ptr<OwnerAnswer> ask_inbox_owner(const Place& place, std::span<const std::byte> blob,
                                             const std::shared_ptr<backend::ImportAnswer>& asked = nullptr);
/// The inbox that was asked for, once. It waits for what the answer still lacks, as import_region() does.
ImportedInbox import_inbox(OwnerAnswer& answer, OwnersEnd owners_end);

}  // namespace pydoca::sim
