#include "backend/verbs/memory/region.hpp"

#include "backend/verbs/adapter/place.hpp"
#include "backend/verbs/library/failure.hpp"
#include "backend/verbs/memory/blob.hpp"

#include <cerrno>
#include <sys/mman.h>
#include <unistd.h>

namespace pydoca::verbs {

int access_flags(Access access) noexcept {
  int flags = 0;
  const auto map = [&](Access flag, int verbs) { flags |= allows(access, flag) ? verbs : 0; };
  map(Access::local_read_write, IBV_ACCESS_LOCAL_WRITE);
  map(Access::rdma_read, IBV_ACCESS_REMOTE_READ);
  map(Access::rdma_write, IBV_ACCESS_REMOTE_WRITE);
  map(Access::rdma_atomic, IBV_ACCESS_REMOTE_ATOMIC);
  map(Access::pci_relaxed_ordering, IBV_ACCESS_RELAXED_ORDERING);
  // Memory that peers may write must be open to the local device; Region::writable() still says what DOCA's flag says.
  const bool remote_writes = allows(access, Access::rdma_write | Access::rdma_atomic);
  return flags | (remote_writes ? IBV_ACCESS_LOCAL_WRITE : 0);
}

namespace {

/// Some drivers report unmapped memory as a lack of memory.
bool is_mapped(const void* addr, std::size_t len) noexcept {
  const auto start = reinterpret_cast<std::uintptr_t>(addr);
  const std::uintptr_t lead = start % static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  return ::msync(reinterpret_cast<void*>(start - lead), len + lead, MS_ASYNC) == 0;
}

}  // namespace

OwnedRegion register_range(const Place& place, void* addr, std::size_t len, int flags, const char* what) {
  constexpr int optional = IBV_ACCESS_RELAXED_ORDERING;
  const auto start = reinterpret_cast<std::uint64_t>(addr);
  ibv_mr* const region = (flags & optional) != 0 && library().reg_mr_iova2 != nullptr
                             ? library().reg_mr_iova2(place.domain(), addr, len, start, static_cast<unsigned>(flags))
                             : library().reg_mr(place.domain(), addr, len, flags & ~optional);
  if (region == nullptr) {
    const int error = errno;
    fail(error == ENOMEM && !is_mapped(addr, len) ? EFAULT : error, what, ": register ", len, " bytes at ",
         detail::hex(start), " with ", place.adapter().name());
  }
  return OwnedRegion(region);
}

LocalRegion::LocalRegion(Place& place, const backend::MemoryRange& range, Access access)
    : region_(register_range(place, range.addr, range.len, access_flags(access), "start mmap")),
      gid_(place.adapter().gid(place.gid_index())) {
  is_local_ = true;
  writable_ = allows(access, Access::local_read_write);
  lkey_ = region_->lkey;
  rkey_ = region_->rkey;
}

std::vector<std::byte> LocalRegion::export_rdma(Access access) {
  return encode(MemoryBlob{.base = reinterpret_cast<std::uint64_t>(region_->addr),
                           .length = region_->length,
                           .rkey = rkey_,
                           .access = access,
                           .gid = gid_});
}

backend::ImportedRegion import_region(std::span<const std::byte> blob) {
  MemoryBlob fields;
  if (const Status status = parse(blob, fields); status != Status::success) {
    throw Error(status, status == Status::unsupported_version
                            ? "import memory: the blob is of another version of pydoca"
                            : "import memory: the blob is not an export for RDMA of an RDMA device, or was changed");
  }
  return {.region = std::make_unique<RemoteRegion>(fields.rkey),
          .addr = fields.base,
          .len = fields.length,
          .access = fields.access};
}

}  // namespace pydoca::verbs
