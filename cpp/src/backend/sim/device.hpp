#pragma once

#include "pydoca/backend.hpp"

#include "backend/sim/copy_engine.hpp"
#include "backend/sim/topology.hpp"

#include <string>

namespace pydoca::sim {

/// An open function of the simulated card.
class Device final : public backend::Device {
 public:
  Device(PresentFunction present, std::string fabric, std::size_t ordinal);

  const backend::DeviceProperties& properties() const noexcept { return present_.function.properties; }
  const backend::Capabilities& capabilities() const noexcept { return properties().capabilities; }
  /// The DPU function through which the other side sees this one; empty on the DPU.
  const std::string& parent() const noexcept { return present_.function.parent; }
  const std::string& fabric() const noexcept { return fabric_; }
  std::size_t ordinal() const noexcept { return ordinal_; }

  bool removed() const noexcept override { return present_.removal->happened().load(std::memory_order_relaxed); }
  void watch_removal(backend::Notifier& notifier) override { present_.removal->watch(notifier); }
  void unwatch_removal(backend::Notifier& notifier) noexcept override { present_.removal->unwatch(notifier); }
  std::vector<backend::RepresentorProperties> representors(RepFilter filter) override;
  std::unique_ptr<backend::MemoryRegion> register_memory(const backend::MemoryRange& range, Access access) override;
  backend::ImportedRegion import_pci(std::span<const std::byte> blob) override;
  bool is_rdma_export(std::span<const std::byte> blob) const noexcept override;
  backend::ImportedRegion import_rdma(std::span<const std::byte> blob) override;
  std::unique_ptr<backend::RdmaQueue> create_rdma_queue(const backend::RdmaOptions& options,
                                                        backend::Notifier& notifier) override;
  std::unique_ptr<backend::CopyQueue> create_copy_queue(const backend::QueueOptions& options,
                                                        backend::Notifier& notifier) override;
  std::unique_ptr<backend::Counter> create_counter(const backend::MemoryRange* memory) override;
  std::unique_ptr<backend::Counter> import_counter(std::span<const std::byte> blob,
                                                   backend::CounterScope scope) override;
  std::unique_ptr<backend::Listener> listen(const backend::RepresentorProperties& representor, std::string_view service,
                                            const backend::ChannelOptions& options) override;
  std::unique_ptr<backend::Dialer> dial(std::string_view service, const backend::ChannelOptions& options) override;

 private:
  /// Throws driver when the function has been pulled out.
  void require_present(std::string_view what) const;

  const PresentFunction present_;
  const std::string fabric_;
  const std::size_t ordinal_;
  CopyEngine engine_;
};

}  // namespace pydoca::sim
