#include "backend/sim/memory/local_region.hpp"

#include "pydoca/device_properties.hpp"

#include "backend/sim/memory/prefault.hpp"
#include "backend/sim/memory/process.hpp"
#include "detail/concat.hpp"
#include "detail/system/guarded_copy.hpp"
#include "detail/system/mapped_file.hpp"

#include <algorithm>
#include <unistd.h>

namespace pydoca::sim {

namespace {

constexpr Access any_writing =
    Access::local_read_write | Access::rdma_write | Access::rdma_atomic | Access::pci_read_write;

/// pydoca memory is sealed. What copy_guarded() cannot read although it is there is a driver's, and stays as it is.
bool can_be_cut(const backend::MemoryRange& range) noexcept {
  return !range.location.has_value() && detail::has_mapped_file(range.addr, range.len) && detail::is_there(range.addr);
}

}  // namespace

LocalRegion::LocalRegion(const Place& place, const backend::MemoryRange& range, Access access)
    : range_(range),
      pci_addr_(place.properties().pci_addr),
      fabric_(place.fabric()),
      can_export_(place.capabilities().mmap_export_pci),
      can_export_rdma_(place.capabilities().mmap_export_rdma) {
  if (!range.location.has_value()) {  // pydoca memory was faulted in when it was made
    prefault(range.addr, range.len, allows(access, any_writing));
  }
  reach_ = can_be_cut(range) ? Reach::file : Reach::local;
  readable_ = true;
  writable_ = allows(access, Access::local_read_write);
  base_ = reinterpret_cast<std::uint64_t>(range.addr);
  len_ = range.len;
  local_ = range.addr;
  if (reach_ == Reach::local) {
    loadable_ = len_;
    storable_ = writable_ ? len_ : 0;
  }
}

LocalRegion::~LocalRegion() { abandon(); }

/// The blob without the slot in the exporter's table.
Blob LocalRegion::describe(BlobType type, Access access) const {
  Blob blob;
  blob.type = type;
  blob.owner_start_time = start_time();
  blob.owner_uid = ::geteuid();
  blob.owner_pid = static_cast<std::uint32_t>(::getpid());
  blob.pid_namespace = pid_namespace();
  blob.base = base_;
  blob.length = len_;
  blob.access = access;
  blob.boot_id = boot_id();
  blob.fabric_hash = fabric_hash(fabric_);
  blob.socket_key = exporter_->listen(fabric_);
  std::ranges::copy(pci_addr_, blob.pci_addr.begin());
  return blob;
}

std::vector<std::byte> LocalRegion::export_pci(Access access) {
  if (!can_export_) {
    return backend::MemoryRegion::export_pci(access);
  }
  if (access != Access::pci_read_only && access != Access::pci_read_write) {
    throw Error(Status::invalid_value, "export memory: access must be pci_read_only or pci_read_write");
  }
  return export_as(BlobType::memory, access, nullptr);
}

std::vector<std::byte> LocalRegion::export_rdma(Access access) {
  if (!can_export_rdma_) {
    return backend::MemoryRegion::export_rdma(access);
  }
  if (!allows(access, rdma_flags) || (access & rdma_flags) != access) {
    throw Error(Status::invalid_value, "export memory: access must be RDMA flags, one at least");
  }
  return export_as(BlobType::net_memory, access, nullptr);
}

std::vector<std::byte> LocalRegion::export_as(BlobType type, Access access,
                                              std::shared_ptr<Exporter::Attachment> attachment) {
  Exporter& exporter = Exporter::instance();
  if (exporter_ != &exporter) {  // a forked child leaves its parent's exports alone
    exports_.clear();
    exporter_ = &exporter;
  }
  const auto known = std::ranges::find_if(
      exports_, [&](const Exported& other) { return other.type == type && other.access == access; });
  if (known != exports_.end()) {
    return {known->blob.begin(), known->blob.end()};
  }
  Blob blob = describe(type, access);
  exports_.reserve(exports_.size() + 1);
  const Exporter::Export where = exporter.add({type, blob.pci_addr, access}, range_, std::move(attachment));
  blob.slot = where.slot;
  blob.epoch = where.epoch;
  blob.nonce = where.nonce;
  exports_.push_back({where, type, access, encode(blob)});
  return {exports_.back().blob.begin(), exports_.back().blob.end()};
}

std::string_view LocalRegion::lost() const noexcept {
  const bool cut = reach_ == Reach::file && !detail::is_there(local_ + len_ - 1);
  return cut ? "the mapped file has become shorter than its map; map it again" : std::string_view();
}

Status LocalRegion::withdraw() noexcept {
  if (exporter_ == nullptr || !exporter_->is_current()) {
    return Status::success;
  }
  for (const Exported& exported : exports_) {
    exporter_->abandon(exported.where);  // ends all of them before it looks at the first again
  }
  std::erase_if(exports_,
                [this](const Exported& exported) { return exporter_->withdraw(exported.where) == Status::success; });
  return exports_.empty() ? Status::success : Status::again;
}

void LocalRegion::abandon() noexcept {
  if (exporter_ != nullptr && exporter_->is_current()) {
    for (const Exported& exported : exports_) {
      exporter_->abandon(exported.where);
    }
    exports_.clear();
  }
}

}  // namespace pydoca::sim
