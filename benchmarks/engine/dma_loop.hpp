#pragma once

#include "pydoca/buf_inventory.hpp"
#include "pydoca/dma.hpp"
#include "pydoca/mmap.hpp"
#include "pydoca/progress_engine.hpp"

#include "require.hpp"

#include <bit>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

namespace pydoca::benchmarks {

inline std::uint64_t address_of(const void* pointer) { return std::bit_cast<std::uint64_t>(pointer); }

/// A started map of [addr, addr + size).
inline std::shared_ptr<Mmap> mapped(const std::shared_ptr<Device>& device, void* addr, std::size_t size,
                                    std::shared_ptr<const void> owner = nullptr,
                                    Access access = Access::local_read_write) {
  auto mmap = Mmap::create();
  mmap->add_device(device);
  mmap->set_memrange(addr, size, std::move(owner));
  mmap->set_permissions(access);
  mmap->start();
  return mmap;
}

/// Keeps depth copies of size bytes in flight, slot after slot of two maps: each task is submitted, completed, its
/// destination reset, and submitted again in its callback, as DOCA's applications do.
class DmaLoop {
 public:
  /// Whether each round uses the task again, or frees it and allocates another one.
  enum class Tasks : std::uint8_t { reused, fresh };

  DmaLoop(const std::shared_ptr<Device>& device, const std::shared_ptr<ProgressEngine>& pe,
          const std::shared_ptr<Mmap>& src, const std::shared_ptr<Mmap>& dst, std::size_t size, std::uint32_t depth,
          Tasks tasks = Tasks::reused)
      : pe_(pe),
        dma_(Dma::create(device)),
        inventory_(BufInventory::create(std::size_t{2} * depth)),
        fresh_(tasks == Tasks::fresh) {
    inventory_->start();
    dma_->set_memcpy_conf(completed, failed, depth);
    dma_->set_user_data(address_of(this));
    pe->connect(dma_);
    require(dma_->start());
    for (std::uint32_t slot = 0; slot < depth; ++slot) {
      Buf* from = nullptr;
      Buf* to = nullptr;
      require(inventory_->get_by_data(src, src->addr() + slot * size % src->len(), size, from));
      require(inventory_->get_by_addr(dst, dst->addr() + slot * size % dst->len(), size, to));
      require(dma_->memcpy(from, to, 0, idle_.emplace_back()));
    }
  }
  ~DmaLoop() {
    for (DmaMemcpyTask* const task : idle_) {
      require(task->src()->dec_refcount());
      require(task->dst()->dec_refcount());
      require(task->free());
    }
    require(dma_->stop());
  }
  DmaLoop(const DmaLoop&) = delete;
  DmaLoop& operator=(const DmaLoop&) = delete;

  /// count must be at least depth.
  void run(std::uint64_t count) {
    to_submit_ = count - idle_.size();
    for (DmaMemcpyTask* const task : idle_) {
      require(task->submit());
    }
    idle_.clear();
    const std::uint64_t end = completed_ + count;
    while (completed_ < end) {
      pe_->progress();
    }
  }

 private:
  static void completed(Task& done, std::uint64_t, std::uint64_t self) noexcept {
    auto& loop = *std::bit_cast<DmaLoop*>(self);
    auto* task = static_cast<DmaMemcpyTask*>(&done);
    require(task->dst()->reset_data_len());
    ++loop.completed_;
    if (loop.fresh_) {
      Buf* const src = task->src();
      Buf* const dst = task->dst();
      require(task->free());
      require(loop.dma_->memcpy(src, dst, 0, task));
    }
    if (loop.to_submit_ == 0) {
      loop.idle_.push_back(task);
    } else {
      --loop.to_submit_;
      require(task->submit());
    }
  }
  [[noreturn]] static void failed(Task&, std::uint64_t, std::uint64_t) noexcept { std::abort(); }

  std::shared_ptr<ProgressEngine> pe_;
  std::shared_ptr<Dma> dma_;
  std::shared_ptr<BufInventory> inventory_;
  std::vector<DmaMemcpyTask*> idle_;
  std::uint64_t to_submit_ = 0;
  std::uint64_t completed_ = 0;
  const bool fresh_;
};

}  // namespace pydoca::benchmarks
