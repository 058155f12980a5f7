#include "library/memory_access.hpp"

#include "detail/concat.hpp"
#include "library/operands.hpp"

#include <array>
#include <utility>

namespace pydoca::detail {

namespace {

constexpr Access pci_flags = Access::pci_read_only | Access::pci_read_write;

std::string explain_import(std::string_view operand, const Mmap& map, Use use, Access needed) {
  const bool over_pci = allows(map.permissions(), pci_flags);
  if (allows(needed, pci_flags) && !over_pci) {
    return concat(operand, " was exported to network peers; this task reaches memory exported over PCIe (export_pci)");
  }
  if (!allows(needed, pci_flags) && over_pci) {
    return concat(operand, " was exported over PCIe; this task reaches memory exported to network peers (export_rdma)");
  }
  if (!allows(map.permissions(), needed) && (use == Use::writes || !over_pci)) {
    return concat(operand, "'s memory was exported without ", name_of(needed), "; export it with that permission");
  }
  return {};
}

}  // namespace

std::string_view name_of(Access flag) noexcept {
  constexpr std::array<std::pair<Access, std::string_view>, 6> names{{{Access::local_read_write, "local_read_write"},
                                                                      {Access::rdma_read, "rdma_read"},
                                                                      {Access::rdma_write, "rdma_write"},
                                                                      {Access::rdma_atomic, "rdma_atomic"},
                                                                      {Access::pci_read_only, "pci_read_only"},
                                                                      {Access::pci_read_write, "pci_read_write"}}};
  for (const auto& [known, name] : names) {
    if (known == flag) {
      return name;
    }
  }
  return "local_read_only";
}

std::string explain_access(const char* operand, const Buf* list, const Device& device, Use use, Access needed) {
  for (const Buf* buf = list; buf != nullptr; buf = buf->next()) {
    const Mmap& map = *buf->mmap();
    if (!map.is_from_export() && use == Use::writes && !allows(map.permissions(), Access::local_read_write)) {
      return concat(operand, "'s memory map does not permit local_read_write; map the memory with that access");
    }
    const std::string_view lost = Operands::lost(*buf, device.ordinal());
    if (!lost.empty()) {
      return concat(operand, "'s memory is gone: ", lost);
    }
    if (!map.is_from_export()) {
      continue;
    }
    if (std::string reason = explain_import(operand, map, use, needed); !reason.empty()) {
      return reason;
    }
  }
  return {};
}

std::string explain_local_access(const char* operand, const Buf* list, const Device& device, Use use) {
  for (const Buf* buf = list; buf != nullptr; buf = buf->next()) {
    const Mmap& map = *buf->mmap();
    if (map.is_from_export() && !allows(map.permissions(), pci_flags)) {
      return concat(operand, " is a network peer's memory; use memory of this process");
    }
  }
  return explain_access(operand, list, device, use, use == Use::writes ? Access::pci_read_write : pci_flags);
}

}  // namespace pydoca::detail
