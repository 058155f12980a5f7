#pragma once

#include "pydoca/backend/channel.hpp"
#include "pydoca/backend/counter.hpp"
#include "pydoca/backend/device.hpp"
#include "pydoca/backend/engine.hpp"
#include "pydoca/backend/memory.hpp"
#include "pydoca/backend/notifier.hpp"
#include "pydoca/backend/processor.hpp"
#include "pydoca/backend/queue.hpp"
#include "pydoca/backend/rdma.hpp"
#include "pydoca/device_properties.hpp"

#include "backend/faulty/plan/device_faults.hpp"

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace pydoca::faulty {

/// Any backend's device, with the faults of a plan. Its memory regions are the device's own, as queues look them up in
/// the segments.
class Device final : public backend::Device {
 public:
  Device(std::unique_ptr<backend::Device> inner, std::shared_ptr<Plan> plan, const DeviceProperties& properties,
         std::size_t ordinal)
      : inner_(std::move(inner)), faults_(std::move(plan), properties, ordinal) {}

  bool removed() const noexcept override { return faults_.removed() || inner_->removed(); }
  bool replaced() const noexcept override { return inner_->replaced(); }
  void watch_removal(backend::Notifier& notifier) override;
  void unwatch_removal(backend::Notifier& notifier) noexcept override;
  std::vector<RepresentorProperties> representors(RepFilter filter) override;
  std::vector<RepresentorProperties> find_representors(std::string_view word) override;
  void accelerate_resource_reclaim() override;
  Status read_clock(backend::DeviceClock clock, std::uint64_t& value) noexcept override;
  std::unique_ptr<backend::MemoryRegion> register_memory(const backend::MemoryRange& range, Access access) override;
  backend::ImportedRegion import_memory(std::span<const std::byte> blob,
                                        const std::shared_ptr<backend::ImportAnswer>& answer) override;
  std::shared_ptr<backend::ImportAnswer> ask_for_memory(std::span<const std::byte> blob) override;
  void* protection_domain() const override { return inner_->protection_domain(); }
  std::unique_ptr<backend::DataQueue> create_queue(const backend::EngineTraits& engine,
                                                   const backend::QueueOptions& options,
                                                   backend::Notifier& notifier) override;
  std::unique_ptr<backend::Counter> create_counter(const backend::MemoryRange* memory) override;
  std::unique_ptr<backend::Counter> import_counter(std::span<const std::byte> blob, backend::CounterScope scope,
                                                   const std::shared_ptr<backend::ImportAnswer>& answer) override;
  std::shared_ptr<backend::ImportAnswer> ask_for_counter(std::span<const std::byte> blob,
                                                         backend::CounterScope scope) override;
  std::unique_ptr<backend::Listener> listen(const RepresentorProperties& representor, std::string_view service,
                                            const backend::ChannelOptions& options) override;
  std::unique_ptr<backend::RdmaQueue> create_rdma_queue(const backend::RdmaOptions& options,
                                                        backend::Notifier& notifier) override;
  std::unique_ptr<backend::Processor> create_processor() override;
  std::unique_ptr<backend::Dialer> dial(std::string_view service, const backend::ChannelOptions& options) override;

 private:
  /// Throws driver when the plan has removed the device.
  void require_present(std::string_view what) const;

  const std::unique_ptr<backend::Device> inner_;
  DeviceFaults faults_;
};

}  // namespace pydoca::faulty
