// Curves: a DMA task and a bare memcpy over sizes and depths. report.cpp has the targets.
#include "pydoca/memory.hpp"
#include "pydoca/sim.hpp"

#include "dma_loop.hpp"

#include <benchmark/benchmark.h>

#include <cstring>
#include <string>
#include <unistd.h>

namespace pydoca::benchmarks {
namespace {

constexpr std::size_t memory_size = std::size_t{64} << 20;

/// A DPU's device and pre-faulted memory on it, made once.
struct Machine {
  Machine() {
    std::memset(src->data(), 1, memory_size);
    std::memset(dst->data(), 2, memory_size);
  }
  static std::shared_ptr<Device> open() {
    sim::set_fabric("benchmark-" + std::to_string(::getpid()));
    return Device::open(find_device("p0", Side::dpu));
  }
  static Machine& instance() {
    static Machine machine;
    return machine;
  }

  std::shared_ptr<Device> device = open();
  std::shared_ptr<Memory> src = Memory::allocate(memory_size);
  std::shared_ptr<Memory> dst = Memory::allocate(memory_size);
  std::shared_ptr<Mmap> src_map = mapped(device, src->data(), memory_size, src);
  std::shared_ptr<Mmap> dst_map = mapped(device, dst->data(), memory_size, dst);
};

void dma_task(benchmark::State& state) {
  const auto size = static_cast<std::size_t>(state.range(0));
  const auto depth = static_cast<std::uint32_t>(state.range(1));
  const Machine& machine = Machine::instance();
  DmaLoop loop(machine.device, ProgressEngine::create(), machine.src_map, machine.dst_map, size, depth);
  const std::uint64_t batch = std::uint64_t{8} * depth;
  for (auto _ : state) {
    loop.run(batch);
  }
  const auto tasks = state.iterations() * static_cast<std::int64_t>(batch);
  state.SetItemsProcessed(tasks);
  state.SetBytesProcessed(tasks * state.range(0));
}

void bare_memcpy(benchmark::State& state) {
  const auto size = static_cast<std::size_t>(state.range(0));
  const std::size_t span = size * static_cast<std::size_t>(state.range(1));
  const Machine& machine = Machine::instance();
  std::size_t at = 0;
  for (auto _ : state) {
    std::memcpy(machine.dst->data() + at, machine.src->data() + at, size);
    benchmark::ClobberMemory();
    at = (at + size) % span;
  }
  state.SetItemsProcessed(state.iterations());
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

void shapes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"size", "depth"});
  for (const std::int64_t size : {64, 4096, 65536, 1 << 20, 2 << 20}) {
    for (const std::int64_t depth : {1, 8, 32}) {
      bench->Args({size, depth});
    }
  }
}

// NOLINTBEGIN(bugprone-throwing-static-initialization): how Google Benchmark registers
const auto* const dma_task_registered =
    benchmark::RegisterBenchmark("dma_task", dma_task)->Apply(shapes)->UseRealTime();
const auto* const memcpy_registered = benchmark::RegisterBenchmark("memcpy", bare_memcpy)->Apply(shapes)->UseRealTime();
// NOLINTEND(bugprone-throwing-static-initialization)

}  // namespace
}  // namespace pydoca::benchmarks
