// Every figure of work queues beside its floor, the same tasks on the engine.
// usage: workq_report [--json] [--check] [--repetitions N] [part of a name]
#include "pydoca/memory.hpp"
#include "pydoca/workq.hpp"

#include "dma_loop.hpp"
#include "figure.hpp"
#include "print_report.hpp"

#include <bit>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace pydoca::benchmarks {
namespace {

constexpr std::size_t slot_size = 64;  ///< bytes of a copy

/// Bufs for depth copies of 64 bytes.
class Slots {
 public:
  explicit Slots(std::uint32_t depth)
      : device(Device::open(find_device("p0", Side::dpu))),
        memory_(Memory::allocate(std::size_t{2} * depth * slot_size)),
        map_(mapped(device, memory_->data(), memory_->size(), memory_)),
        inventory_(BufInventory::create(std::size_t{2} * depth)) {
    inventory_->start();
    for (std::uint32_t i = 0; i < depth; ++i) {
      auto& [from, to] = bufs.emplace_back();
      require(inventory_->get_by_data(map_, map_->addr() + 2 * i * slot_size, slot_size, from));
      require(inventory_->get_by_addr(map_, map_->addr() + (2 * i + 1) * slot_size, slot_size, to));
    }
  }
  ~Slots() {
    for (const auto& [from, to] : bufs) {
      require(from->dec_refcount());
      require(to->dec_refcount());
    }
  }
  Slots(const Slots&) = delete;
  Slots& operator=(const Slots&) = delete;

  std::shared_ptr<Device> device;
  std::vector<std::pair<Buf*, Buf*>> bufs;

 private:
  std::shared_ptr<Memory> memory_;
  std::shared_ptr<Mmap> map_;
  std::shared_ptr<BufInventory> inventory_;
};

/// Submits depth jobs, then retrieves their events, again and again.
class Jobs {
 public:
  explicit Jobs(std::uint32_t depth) : slots_(depth), dma_(Dma::create(slots_.device)) {
    queue_ = workq::WorkQueue::create(depth);
    queue_->add(dma_);
  }
  void run(std::uint64_t count) {
    for (std::uint64_t done = 0; done < count; done += slots_.bufs.size()) {
      for (const auto& [from, to] : slots_.bufs) {
        require(to->reset_data_len());
        require(queue_->submit(workq::DmaMemcpyJob{dma_.get(), to, from, 1}));
      }
      workq::Event event;
      while (queue_->num_jobs() != 0) {
        static_cast<void>(queue_->progress_retrieve(event));
      }
    }
  }

 private:
  Slots slots_;
  std::shared_ptr<Dma> dma_;
  std::unique_ptr<workq::WorkQueue> queue_;
};

/// The same with tasks, which are taken for each copy and freed by its callback.
class Tasks {
 public:
  explicit Tasks(std::uint32_t depth) : slots_(depth), dma_(Dma::create(slots_.device)) {
    dma_->set_memcpy_conf(completed, failed, depth);
    dma_->set_user_data(address_of(this));
    pe_->connect(dma_);
    require(dma_->start());
  }
  ~Tasks() { require(dma_->stop()); }
  Tasks(const Tasks&) = delete;
  Tasks& operator=(const Tasks&) = delete;

  void run(std::uint64_t count) {
    for (std::uint64_t done = 0; done < count; done += slots_.bufs.size()) {
      for (const auto& [from, to] : slots_.bufs) {
        DmaMemcpyTask* task = nullptr;
        require(to->reset_data_len());
        require(dma_->memcpy(from, to, 1, task));
        require(task->try_submit());
        ++in_flight_;
      }
      while (in_flight_ != 0) {
        pe_->progress();
      }
    }
  }

 private:
  static void completed(Task& task, std::uint64_t, std::uint64_t self) noexcept {
    --std::bit_cast<Tasks*>(self)->in_flight_;
    require(task.free());
  }
  [[noreturn]] static void failed(Task&, std::uint64_t, std::uint64_t) noexcept { std::abort(); }

  Slots slots_;
  std::shared_ptr<Dma> dma_;
  std::shared_ptr<ProgressEngine> pe_ = ProgressEngine::create();
  std::uint64_t in_flight_ = 0;
};

Figure copying(std::string name, std::uint32_t depth) {
  return {std::move(name),
          Rule::cost_ratio_at_most,
          1.15,
          100'000,
          [jobs = std::make_shared<Jobs>(depth)](std::uint64_t units) { jobs->run(units); },
          [tasks = std::make_shared<Tasks>(depth)](std::uint64_t units) { tasks->run(units); }};
}

}  // namespace
}  // namespace pydoca::benchmarks

int main(int argc, char** argv) {
  using namespace pydoca::benchmarks;
  return print_report(argc, argv, [](const Print& print) {
    print({copying("a job that copies 64 B, 1 in flight", 1), copying("a job that copies 64 B, 32 in flight", 32)});
  });
}
