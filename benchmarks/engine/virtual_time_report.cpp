// Completions of a modelled device under the virtual clock, as its users see them in real time. Options as
// print_report.hpp says.
//
// The floor is what no simulator of copies in order of time can leave out: the bytes are copied, and the moment of each
// copy goes into a heap and out of it. The goal is 100,000 completions a second: 10,000 ns each, floor included.
#include "pydoca/memory.hpp"
#include "pydoca/sim.hpp"
#include "pydoca/virtual_time.hpp"

#include "dma_loop.hpp"
#include "print_report.hpp"

#include <cstring>
#include <memory>
#include <queue>
#include <string>
#include <vector>

namespace pydoca::benchmarks {
namespace {

constexpr std::size_t memory_size = std::size_t{1} << 20;
constexpr std::uint64_t copies = 256;  // what a sample has: it fits within a time slice of a busy machine
constexpr double allowed_ns = 9'000;   // added to the floor, which takes less than 1,000

/// What copies take, with jitter, on a card of the preset.
void use_model() {
  sim::Config config;
  config.timing.operations["dma"] = sim::timing_preset("bluefield3").operations.at("dma");
  sim::set_config(config);
}

class Bench {
 public:
  Bench() {
    std::memset(src_->data(), 1, memory_size);
    std::memset(dst_->data(), 2, memory_size);
  }

  std::shared_ptr<DmaLoop> loop(std::size_t size, std::uint32_t depth) const {
    const auto device = Device::open(find_device("p0", Side::dpu));
    const auto src = mapped(device, src_->data(), memory_size, src_);
    const auto dst = mapped(device, dst_->data(), memory_size, dst_);
    return std::make_shared<DmaLoop>(device, ProgressEngine::create(), src, dst, size, depth);
  }

  /// The same copies, whose moments go through a heap of depth moments.
  void copy_bare(std::uint64_t count, std::size_t size, std::uint32_t depth) const {
    std::priority_queue<std::uint64_t, std::vector<std::uint64_t>, std::greater<>> moments;
    for (std::uint32_t slot = 0; slot < depth; ++slot) {
      moments.push(slot);
    }
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::size_t offset = i % depth * size % memory_size;
      std::memcpy(dst_->data() + offset, src_->data() + offset, size);
      const std::uint64_t moment = moments.top();
      moments.pop();
      moments.push(moment + 1'000 + (i * 7919) % 100);  // one that does not always come last
    }
  }

 private:
  std::shared_ptr<Memory> src_ = Memory::allocate(memory_size);
  std::shared_ptr<Memory> dst_ = Memory::allocate(memory_size);
};

Figure figure_of(const Bench& bench, std::size_t size, std::uint32_t depth) {
  return {.name = "virtual time: a modelled copy of " + std::to_string(size) + " B, " + std::to_string(depth) +
                  " in flight (floor: memcpy, a heap of moments)",
          .rule = Rule::excess_ns_at_most,
          .target = allowed_ns,
          .units = copies,
          .subject = [loop = bench.loop(size, depth)](std::uint64_t count) { loop->run(count); },
          .floor = [&bench, size, depth](std::uint64_t count) { bench.copy_bare(count, size, depth); }};
}

void make(const Print& print) {
  const sim::VirtualTime time(sim::VirtualTimeOptions{});
  use_model();
  const Bench bench;
  for (const std::size_t size : {std::size_t{64}, std::size_t{4096}}) {
    for (const std::uint32_t depth : {16U, 64U}) {
      print({figure_of(bench, size, depth)});
    }
  }
}

}  // namespace
}  // namespace pydoca::benchmarks

int main(int argc, char** argv) { return pydoca::benchmarks::print_report(argc, argv, pydoca::benchmarks::make); }
