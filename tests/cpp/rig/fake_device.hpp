#pragma once

#include "pydoca/backend/device.hpp"
#include "pydoca/backend/engine.hpp"
#include "pydoca/device.hpp"
#include "pydoca/device_properties.hpp"

#include "backend/sim/copy/copy_queue.hpp"
#include "backend/sim/memory/region.hpp"
#include "backend/sim/work/work_engine.hpp"

#include <atomic>
#include <bit>
#include <memory>
#include <utility>

namespace pydoca::fake {

/// The options of a fake device.
struct DeviceOptions {
  DmaCapabilities dma{.max_buf_size = 4U << 20, .max_buf_list_len = 64, .max_num_tasks = 1U << 17};
  bool has_dma = true;
  bool can_export = false;
  bool can_import = false;
};

class Region final : public sim::Region {
 public:
  Region(const backend::MemoryRange& range, Access access) {
    readable_ = true;
    writable_ = allows(access, Access::local_read_write);
    base_ = std::bit_cast<std::uint64_t>(range.addr);
    len_ = range.len;
    local_ = range.addr;
  }

  /// withdraw() answers again this often, as if a peer's access did not end.
  int busy = 0;

  std::vector<std::byte> export_pci(Access /*access*/) override { return std::vector<std::byte>(16, std::byte{7}); }
  Status withdraw() noexcept override { return busy-- > 0 ? Status::again : Status::success; }
};

/// Answers again as often as told, as a queue does that is full; then it is the simulated queue.
class BusyQueue final : public backend::DataQueue {
 public:
  BusyQueue(std::unique_ptr<backend::DataQueue> queue, int& busy) : queue_(std::move(queue)), busy_(busy) {}

  Status post(backend::DataOperation& operation, bool flush) noexcept override {
    if (busy_ > 0) {
      --busy_;
      return Status::again;
    }
    return queue_->post(operation, flush);
  }
  int fd() const noexcept override { return queue_->fd(); }
  bool look() noexcept override { return queue_->look(); }
  void arm() noexcept override { queue_->arm(); }
  backend::Operation* poll(bool& more) noexcept override { return queue_->poll(more); }
  bool assist() noexcept override { return queue_->assist(); }
  void flush() noexcept override { queue_->flush(); }
  void abort() noexcept override { queue_->abort(); }

 private:
  const std::unique_ptr<backend::DataQueue> queue_;
  int& busy_;
};

/// A device with the simulated copy engine on local memory, without a fabric or a topology.
class Device final : public backend::Device {
 public:
  Device(const DeviceOptions& options, std::size_t ordinal, std::atomic<bool>& removed)
      : removed_(removed),
        can_import_(options.can_import),
        limits_{.ordinal = ordinal, .max_size = options.dma.max_buf_size, .max_list_len = options.dma.max_buf_list_len},
        engine_(removed, "fake", Side::dpu) {}

  bool removed() const noexcept override { return removed_; }
  std::unique_ptr<backend::MemoryRegion> register_memory(const backend::MemoryRange& range, Access access) override {
    auto region = std::make_unique<Region>(range, access);
    last_region = region.get();
    return region;
  }
  backend::ImportedRegion import_memory(std::span<const std::byte> blob,
                                        const std::shared_ptr<backend::ImportAnswer>& answer) override {
    if (!can_import_) {
      return backend::Device::import_memory(blob, answer);
    }
    backend::MemoryRange range{.addr = const_cast<std::byte*>(blob.data()), .len = blob.size(), .location = {}};
    return {.region = std::make_unique<Region>(range, Access::local_read_only),
            .addr = std::bit_cast<std::uint64_t>(blob.data()),
            .len = blob.size(),
            .access = Access::pci_read_only};
  }
  std::unique_ptr<backend::DataQueue> create_queue(const backend::EngineTraits& /*engine*/,
                                                   const backend::QueueOptions& options,
                                                   backend::Notifier& notifier) override {
    return std::make_unique<BusyQueue>(std::make_unique<sim::CopyQueue>(engine_, limits_, options, notifier), busy);
  }

  std::atomic<Region*> last_region{nullptr};
  int busy = 0;  ///< how often copies are answered again

 private:
  std::atomic<bool>& removed_;
  const bool can_import_;
  const sim::CopyLimits limits_;
  sim::WorkEngine engine_;
};

/// Opens devices with the options that it was created with.
class Backend final : public backend::Backend {
 public:
  explicit Backend(const DeviceOptions& options = {}) : options_(options) {}

  std::string_view name() const noexcept override { return "fake"; }
  std::vector<DeviceProperties> enumerate() override {
    DeviceProperties properties;
    properties.backend = "fake";
    properties.name = "fake0";
    properties.pci_addr = "0000:01:00.0";
    properties.side = Side::dpu;
    if (options_.has_dma) {
      properties.capabilities.dma = options_.dma;
    }
    properties.capabilities.mmap_export_pci = options_.can_export;
    properties.capabilities.mmap_create_from_export_pci = options_.can_import;
    return {properties};
  }
  std::unique_ptr<backend::Device> open(const DeviceProperties& /*properties*/, std::size_t ordinal) override {
    return std::make_unique<Device>(options_, ordinal, removed);
  }

  std::shared_ptr<pydoca::Device> open_device() { return pydoca::Device::open(DeviceInfo(*this, enumerate().front())); }

  std::atomic<bool> removed{false};

 private:
  const DeviceOptions options_;
};

/// The fake device behind an open one.
inline Device& behind(const pydoca::Device& device) { return dynamic_cast<Device&>(device.backend()); }

}  // namespace pydoca::fake
