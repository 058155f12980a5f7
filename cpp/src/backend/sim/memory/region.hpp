#pragma once

#include "pydoca/backend/memory.hpp"

#include "backend/sim/memory/owner_process.hpp"
#include "backend/sim/memory/revocation_page.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <sys/types.h>

namespace pydoca::sim {

/// A memory region as the simulated copy engine sees it. Addresses are those of the memory's owner.
class Region : public backend::MemoryRegion {
 public:
  enum class Reach : std::uint8_t {
    local,    ///< this process's memory
    file,     ///< the same, of a file that can be cut short: detail::copy_guarded() accesses it
    mapped,   ///< the owner's memfd, mapped here
    foreign,  ///< memory of the process of owner()
  };

  Reach reach() const noexcept { return reach_; }
  bool readable() const noexcept { return readable_; }
  bool writable() const noexcept { return writable_; }
  /// No range wraps, so that one comparison finds an addr on either side of it.
  bool contains(std::uint64_t addr, std::uint64_t len) const noexcept {
    return len <= len_ && addr - base_ <= len_ - len;
  }
  // Whether the bytes [addr, addr + len), at least one, are readable or writable, and are so here without a call.
  bool can_load(std::uint64_t addr, std::uint64_t len) const noexcept {
    return len - 1 < loadable_ && addr - base_ <= loadable_ - len;
  }
  bool can_store(std::uint64_t addr, std::uint64_t len) const noexcept {
    return len - 1 < storable_ && addr - base_ <= storable_ - len;
  }
  /// Whether it is memory that this process has registered.
  bool is_own() const noexcept { return reach_ == Reach::local || reach_ == Reach::file; }
  /// The bytes at addr in this process; not for foreign memory.
  std::byte* at(std::uint64_t addr) const noexcept { return local_ + (addr - base_); }
  /// The owner of foreign memory; null for other memory.
  const OwnerProcess* owner() const noexcept { return owner_.get(); }
  pid_t owner_pid() const noexcept { return owner_ != nullptr ? owner_->pid() : 0; }
  /// What a queue pair may do to it from here: nothing, unless it was exported to the network. readable() and
  /// writable() do not hold for such memory.
  Access network_access() const noexcept { return network_access_; }
  /// The owner of memory from the network, as origin_of() a blob.
  std::uint64_t origin() const noexcept { return origin_; }
  /// An access is inside this page; null for local memory.
  RevocationPage* revocation_page() const noexcept { return revocation_page_; }

 protected:
  Reach reach_ = Reach::local;
  bool readable_ = false;
  bool writable_ = false;
  std::uint64_t base_ = 0;
  std::uint64_t len_ = 0;
  // len_ where local memory is readable and writable, else 0: one comparison is for the kind of memory, the permission
  // and the length.
  std::uint64_t loadable_ = 0;
  std::uint64_t storable_ = 0;
  std::byte* local_ = nullptr;
  std::unique_ptr<const OwnerProcess> owner_;
  Access network_access_{};
  std::uint64_t origin_ = 0;
  RevocationPage* revocation_page_ = nullptr;
};

}  // namespace pydoca::sim
