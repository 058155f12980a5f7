#pragma once

#include "pydoca/backend.hpp"

#include "backend/verbs/adapter.hpp"

#include <string_view>

namespace pydoca::verbs {

/// An open device with its protection domain, to which everything on it belongs.
class Device final : public backend::Device {
 public:
  Device(const std::string& name, std::size_t ordinal);
  /// On the application's, which outlives it.
  Device(ibv_pd& borrowed, std::size_t ordinal);

  const Adapter& adapter() const noexcept { return adapter_; }
  ibv_context* context() const noexcept { return adapter_.context(); }
  ibv_pd* domain() const noexcept { return domain_.get(); }
  std::size_t ordinal() const noexcept { return ordinal_; }
  /// The index that is used unless the user chose another.
  unsigned gid_index() const noexcept { return gid_index_; }
  Removal& removal() noexcept { return removal_; }
  AsyncEvents& async_events() noexcept { return async_events_; }
  /// Throws driver when the device has been removed.
  void require_present(std::string_view what);

  bool removed() const noexcept override { return removal_.notice(); }
  void* protection_domain() const override { return domain(); }
  std::unique_ptr<backend::MemoryRegion> register_memory(const backend::MemoryRange& range, Access access) override;
  /// All of them: a device on a network imports nothing over PCIe, and says what is wrong with a blob.
  backend::ImportedRegion import_memory(std::span<const std::byte> blob) override;
  std::unique_ptr<backend::CopyQueue> create_copy_queue(const backend::QueueOptions& options,
                                                        backend::Notifier& notifier) override;
  std::unique_ptr<backend::RdmaQueue> create_rdma_queue(const backend::RdmaOptions& options,
                                                        backend::Notifier& notifier) override;
  std::unique_ptr<backend::Counter> create_counter(const backend::MemoryRange* memory) override;
  std::unique_ptr<backend::Counter> import_counter(std::span<const std::byte> blob,
                                                   backend::CounterScope scope) override;

 private:
  const Adapter adapter_;
  const std::size_t ordinal_;
  const unsigned gid_index_;
  const OwnedDomain domain_;
  AsyncEvents async_events_;
  mutable Removal removal_;
};

}  // namespace pydoca::verbs
