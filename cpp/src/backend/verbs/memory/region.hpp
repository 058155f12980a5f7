#pragma once

#include "pydoca/backend/device.hpp"
#include "pydoca/backend/memory.hpp"
#include "pydoca/segment.hpp"
#include "pydoca/types.hpp"

#include "backend/verbs/library/owned.hpp"

#include <span>

namespace pydoca::verbs {

class Place;

/// A memory region as the device knows it: by keys. Addresses are those of the memory's owner.
class Region : public backend::MemoryRegion {
 public:
  bool is_local() const noexcept { return is_local_; }
  /// Whether the local device may write to it.
  bool writable() const noexcept { return writable_; }
  std::uint32_t lkey() const noexcept { return lkey_; }
  std::uint32_t rkey() const noexcept { return rkey_; }
  /// Drivers give memory that is open to peers the same key twice, and other memory no remote key.
  std::uint32_t mkey() const override { return is_local_ ? lkey_ : rkey_; }

 protected:
  bool is_local_ = false;
  bool writable_ = false;
  std::uint32_t lkey_ = 0;
  std::uint32_t rkey_ = 0;
};

/// The region of a segment on the device of that ordinal; null where the map was not added to the device.
inline const Region* region_of(const Segment& segment, std::size_t ordinal) noexcept {
  return static_cast<const Region*>(segment.regions[ordinal]);
}

/// This process's memory, registered.
class LocalRegion final : public Region {
 public:
  /// Throws as the library fails: no_memory (also for too little lockable memory), invalid_value (not mapped).
  LocalRegion(Place& place, const backend::MemoryRange& range, Access access);

  std::vector<std::byte> export_rdma(Access access) override;

 private:
  const OwnedRegion region_;
  const Gid gid_;
};

/// A peer's memory, as its blob describes it.
class RemoteRegion final : public Region {
 public:
  explicit RemoteRegion(std::uint32_t rkey) noexcept { rkey_ = rkey; }
};

/// Throws as backend::Device does.
backend::ImportedRegion import_region(std::span<const std::byte> blob);

/// The verbs' flags for the permissions of a memory map.
int access_flags(Access access) noexcept;

/// Registers a range. what: the user's action, for messages.
OwnedRegion register_range(const Place& place, void* addr, std::size_t len, int flags, const char* what);

}  // namespace pydoca::verbs
