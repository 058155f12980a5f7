#pragma once

#include "pydoca/backend/counter.hpp"
#include "pydoca/backend/device.hpp"
#include "pydoca/backend/engine.hpp"
#include "pydoca/backend/memory.hpp"
#include "pydoca/backend/notifier.hpp"
#include "pydoca/backend/queue.hpp"
#include "pydoca/backend/rdma.hpp"

#include "backend/verbs/adapter/place.hpp"

#include <cstdint>
#include <string_view>

namespace pydoca::verbs {

/// An open device: makes its regions, counters and queues.
class Device final : public backend::Device {
 public:
  Device(const std::string& name, std::size_t ordinal) : place_(name, ordinal) {}
  /// Uses the application's domain, which outlives it.
  Device(ibv_pd& borrowed, std::size_t ordinal) : place_(borrowed, ordinal) {}

  Place& place() noexcept { return place_; }

  bool removed() const noexcept override { return place_.removed(); }
  Status read_clock(backend::DeviceClock clock, std::uint64_t& value) noexcept override;
  void* protection_domain() const override { return place_.domain(); }
  std::unique_ptr<backend::MemoryRegion> register_memory(const backend::MemoryRange& range, Access access) override;
  /// Exports of network peers only; anything else is invalid_value.
  backend::ImportedRegion import_memory(std::span<const std::byte> blob,
                                        const std::shared_ptr<backend::ImportAnswer>& answer) override;
  std::unique_ptr<backend::DataQueue> create_queue(const backend::EngineTraits& engine,
                                                   const backend::QueueOptions& options,
                                                   backend::Notifier& notifier) override;
  std::unique_ptr<backend::RdmaQueue> create_rdma_queue(const backend::RdmaOptions& options,
                                                        backend::Notifier& notifier) override;
  std::unique_ptr<backend::Counter> create_counter(const backend::MemoryRange* memory) override;
  std::unique_ptr<backend::Counter> import_counter(std::span<const std::byte> blob, backend::CounterScope scope,
                                                   const std::shared_ptr<backend::ImportAnswer>& answer) override;

 private:
  Place place_;
};

}  // namespace pydoca::verbs
