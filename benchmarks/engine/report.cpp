// Every figure of DMA beside its floor. usage: report [--json] [--check] [--repetitions N] [part of a name]
#include "pydoca/sim.hpp"

#include "figure.hpp"
#include "peer.hpp"
#include "print_report.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <memory>
#include <sys/uio.h>
#include <utility>
#include <vector>

namespace pydoca::benchmarks {
namespace {

constexpr std::size_t ki = 1024;
constexpr std::size_t mi = 1024 * ki;
constexpr std::size_t big = 64 * mi;
constexpr std::size_t task_limit = 2 * mi;  ///< the simulated devices have it

/// A copy that the compiler may not remove.
void bare_copy(std::byte* dst, const std::byte* src, std::size_t size) {
  std::memcpy(dst, src, size);
  asm volatile("" : : "r"(dst) : "memory");
}

/// Visits the memory of so many tasks in turn, and does nothing else: the two cache lines of a task, and the first of
/// the two of each buf, which is all that a copy by a task writes besides its bytes.
class Walk {
 public:
  explicit Walk(std::size_t tasks) : tasks_(tasks), bufs_(2 * tasks) {}

  void run(std::uint64_t units) {
    for (std::uint64_t i = 0; i < units; ++i) {
      const std::size_t at = i % tasks_.size();
      ++tasks_[at].first;
      ++tasks_[at].second;
      ++bufs_[2 * at].first;
      ++bufs_[2 * at + 1].first;
      asm volatile("" : : : "memory");
    }
  }

 private:
  struct TwoLines {
    alignas(64) std::uint64_t first = 0;
    alignas(64) std::uint64_t second = 0;
  };
  static_assert(sizeof(TwoLines) == sizeof(Buf));

  std::vector<TwoLines> tasks_;
  std::vector<TwoLines> bufs_;
};

/// The machine under measurement: a DPU's device, memory on it, and a host process's memory imported.
class Bench {
 public:
  explicit Bench(const Peer& peer) : peer_(peer) {
    std::memset(src_->data(), 1, big);
    std::memset(dst_->data(), 2, big);
  }

  std::vector<Figure> figures() {
    std::vector<Figure> all;
    all.push_back(small("dma 4 KiB, 32 in flight, against memcpy", Rule::cost_ratio_at_most, 1.5, 4 * ki));
    all.push_back(small("dma 64 B, 32 in flight, above memcpy", Rule::excess_ns_at_most, 30, 64));
    all.push_back(small("dma 64 B, 32 in flight, task allocated and freed, above memcpy", Rule::excess_ns_at_most, 40,
                        64, DmaLoop::Tasks::fresh));
    all.push_back(bandwidth("dma 64 KiB, 8 in flight, against memcpy", 0.95, 64 * ki, 8, 64 * ki));
    all.push_back(bandwidth("dma 1 MiB, 1 in flight, against memcpy", 0.95, mi, 1, mi));
    all.push_back(bandwidth("dma 1 MiB, 8 in flight, against memcpy", 0.95, mi, 8, mi));
    all.push_back(bandwidth("dma 64 MiB in tasks of 2 MiB, against one memcpy", 1.2, task_limit, 32, big));
    for (const std::size_t size : {64 * ki, mi, big}) {
      all.push_back(imported(size));
      all.push_back(foreign(size));
    }
    all.push_back(idle_contexts());
    std::ranges::move(many_in_flight(), std::back_inserter(all));
    return all;
  }

 private:
  std::shared_ptr<DmaLoop> loop(const std::shared_ptr<Mmap>& src, std::size_t size, std::uint32_t depth,
                                DmaLoop::Tasks tasks = DmaLoop::Tasks::reused) {
    return std::make_shared<DmaLoop>(device_, pe_, src, dst_map_, size, depth, tasks);
  }

  Figure small(std::string name, Rule rule, double target, std::size_t size,
               DmaLoop::Tasks use = DmaLoop::Tasks::reused) {
    constexpr std::uint32_t depth = 32;
    auto tasks = loop(src_map_, size, depth, use);
    return {std::move(name),
            rule,
            target,
            4096,
            [tasks](std::uint64_t units) { tasks->run(units); },
            [this, size](std::uint64_t units) {
              for (std::uint64_t i = 0; i < units; ++i) {
                bare_copy(dst_->data() + i % depth * size, src_->data() + i % depth * size, size);
              }
            }};
  }

  /// The floor copies by calls of floor_size over the same memory as the tasks.
  Figure bandwidth(std::string name, double target, std::size_t size, std::uint32_t depth, std::size_t floor_size) {
    auto tasks = loop(src_map_, size, depth);
    const std::size_t span = size * depth;
    const std::uint64_t bytes = std::max<std::uint64_t>(span, 32 * mi);
    return {std::move(name),
            Rule::speed_ratio_at_least,
            target,
            bytes,
            [tasks, size](std::uint64_t units) { tasks->run(units / size); },
            [this, span, floor_size](std::uint64_t units) {
              for (std::uint64_t at = 0; at < units; at += floor_size) {
                bare_copy(dst_->data() + at % span, src_->data() + at % span, floor_size);
              }
            }};
  }

  static std::string name_of(std::size_t size) {
    return size < mi ? std::to_string(size / ki) + " KiB" : std::to_string(size / mi) + " MiB";
  }

  Figure imported(std::size_t size) {
    const std::size_t task = std::min(size, task_limit);
    const auto depth = static_cast<std::uint32_t>(size / task);
    auto remote = loop(imported_map_, task, depth);
    auto local = loop(src_map_, task, depth);
    return {"imported pydoca memory, " + name_of(size) + ", against the same copy in one process",
            Rule::speed_ratio_at_least,
            0.95,
            std::max(size, 16 * mi),
            [remote, task](std::uint64_t units) { remote->run(units / task); },
            [local, task](std::uint64_t units) { local->run(units / task); }};
  }

  Figure foreign(std::size_t size) {
    const std::size_t task = std::min(size, task_limit);
    auto remote = loop(foreign_map_, task, static_cast<std::uint32_t>(size / task));
    return {"imported foreign memory, " + name_of(size) + ", against process_vm_readv",
            Rule::speed_ratio_at_least,
            0.95,
            std::max(size, 16 * mi),
            [remote, task](std::uint64_t units) { remote->run(units / task); },
            [this, size](std::uint64_t units) {
              for (std::uint64_t at = 0; at < units; at += size) {
                const iovec here{dst_->data(), size};
                const iovec there{std::bit_cast<void*>(peer_.foreign_memory.addr), size};
                if (::process_vm_readv(peer_.pid(), &here, 1, &there, 1, 0) != static_cast<ssize_t>(size)) {
                  throw Error(Status::operating_system, "benchmark: process_vm_readv failed");
                }
              }
            }};
  }

  Figure idle_contexts() {
    constexpr int idle = 1000;
    const auto crowded = ProgressEngine::create();
    auto contexts = std::make_shared<std::vector<std::unique_ptr<DmaLoop>>>();
    for (int i = 0; i < idle; ++i) {
      contexts->push_back(std::make_unique<DmaLoop>(device_, crowded, src_map_, dst_map_, 64, 1));
    }
    auto busy = std::make_shared<DmaLoop>(device_, crowded, src_map_, dst_map_, 64, 1);
    auto alone = std::make_shared<DmaLoop>(device_, ProgressEngine::create(), src_map_, dst_map_, 64, 1);
    return {"completion of 64 B with 1000 idle contexts, against none",
            Rule::cost_ratio_at_most,
            1.1,
            20'000,
            [busy, contexts](std::uint64_t units) { busy->run(units); },
            [alone](std::uint64_t units) { alone->run(units); }};
  }

  std::vector<Figure> many_in_flight() {
    constexpr std::uint32_t many = 65536;
    // All on the same few bytes: the figures are about tasks, not about the memory that they copy.
    const auto src = mapped(device_, src_->data(), 4 * ki, src_);
    const auto dst = mapped(device_, dst_->data(), 4 * ki, dst_);
    auto crowd = std::make_shared<DmaLoop>(device_, pe_, src, dst, 64, many);
    auto one = std::make_shared<DmaLoop>(device_, pe_, src, dst, 64, 1);
    auto walk = std::make_shared<Walk>(many);
    const auto subject = [crowd](std::uint64_t units) { crowd->run(units); };
    return {
        {"64 B task with 65536 in flight, against one", Rule::cost_ratio_at_most, 2, many, subject,
         [one](std::uint64_t units) { one->run(units); }},
        {"64 B task with 65536 in flight, against one and a walk over as much memory", Rule::cost_ratio_at_most, 1.1,
         many, subject,
         [one, walk](std::uint64_t units) {
           one->run(units);
           walk->run(units);
         }},
    };
  }

  const Peer& peer_;
  std::shared_ptr<Device> device_ = Device::open(find_device("p0", Side::dpu));
  std::shared_ptr<ProgressEngine> pe_ = ProgressEngine::create();
  std::shared_ptr<Memory> src_ = Memory::allocate(big);
  std::shared_ptr<Memory> dst_ = Memory::allocate(big);
  std::shared_ptr<Mmap> src_map_ = mapped(device_, src_->data(), big, src_);
  std::shared_ptr<Mmap> dst_map_ = mapped(device_, dst_->data(), big, dst_);
  std::shared_ptr<Mmap> imported_map_ = Mmap::create_from_export(device_, peer_.pydoca_memory.blob);
  std::shared_ptr<Mmap> foreign_map_ = Mmap::create_from_export(device_, peer_.foreign_memory.blob);
};

}  // namespace
}  // namespace pydoca::benchmarks

int main(int argc, char** argv) {
  using namespace pydoca::benchmarks;
  return print_report(argc, argv, [](const Print& print) {
    const Peer peer(big);
    print(Bench(peer).figures());
  });
}
