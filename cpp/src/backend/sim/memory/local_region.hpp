#pragma once

#include "backend/sim/memory/exporter.hpp"
#include "backend/sim/memory/region.hpp"
#include "backend/sim/place/place.hpp"

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace pydoca::sim {

/// This process's memory, as one device may reach it and export it.
class LocalRegion final : public Region {
 public:
  /// Faults the range in. Throws invalid_value when part of it is not mapped, not_permitted when it is read-only and
  /// access allows writing, no_memory.
  LocalRegion(const Place& place, const backend::MemoryRange& range, Access access);
  ~LocalRegion() override;

  std::vector<std::byte> export_pci(Access access) override;
  std::vector<std::byte> export_rdma(Access access) override;
  /// The same for any device and type; attachment goes with it.
  std::vector<std::byte> export_as(BlobType type, Access access, std::shared_ptr<Exporter::Attachment> attachment);
  std::string_view lost() const noexcept override;
  Status withdraw() noexcept override;
  /// The same; an export that an importer is inside keeps its memory until that importer has left.
  void abandon() noexcept;

 private:
  struct Exported {
    Exporter::Export where;
    BlobType type{};
    Access access{};
    std::array<std::byte, blob_size> blob{};
  };

  Blob describe(BlobType type, Access access) const;

  const backend::MemoryRange range_;
  const std::string pci_addr_;
  const std::string fabric_;
  const bool can_export_;
  const bool can_export_rdma_;
  Exporter* exporter_ = nullptr;
  std::vector<Exported> exports_;
};

}  // namespace pydoca::sim
