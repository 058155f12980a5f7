// What a trace costs, beside its floor. usage: trace_report [--json] [--check] [--repetitions N] [part of a name]
#include "pydoca/memory.hpp"
#include "pydoca/trace.hpp"

#include "dma_loop.hpp"
#include "figure.hpp"
#include "print_report.hpp"

#include <array>
#include <cstring>
#include <memory>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace pydoca::benchmarks {
namespace {

constexpr std::size_t size = 64;
constexpr std::uint32_t depth = 32;
constexpr std::uint64_t events_of_task = 2;
constexpr std::uint32_t events_per_thread = 65536;
constexpr std::uint64_t many = 4194304;  ///< events of a sample; with fewer, the begin and end of its trace would count

/// What recording must do at least: read the clock twice, for begin and duration, and store 32 bytes in a ring.
class BareRing {
 public:
  using Record = std::array<std::uint64_t, 4>;

  void write(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t begin = pydoca::trace::now();
      Record& record = records_[i % records_.size()];
      record = {begin, i, pydoca::trace::now() - begin, 1};
      asm volatile("" : : "r"(&record) : "memory");
    }
  }

 private:
  std::vector<Record> records_{events_per_thread};
};

/// What the begin and the end of a trace must do at least: the memory of two rings, shared and without faults later.
void make_shared_memory(std::uint64_t times) {
  constexpr std::size_t bytes = 2 * events_per_thread * sizeof(BareRing::Record);
  for (std::uint64_t i = 0; i < times; ++i) {
    const int file = ::memfd_create("benchmark", MFD_CLOEXEC);
    void* const memory = ::ftruncate(file, bytes) == 0
                             ? ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, 0)
                             : MAP_FAILED;
    require(memory == MAP_FAILED ? Status::operating_system : Status::success);
    ::munmap(memory, bytes);
    ::close(file);
  }
}

class Bench {
 public:
  Bench() {
    std::memset(memory_->data(), 1, memory_->size());
    untraced_ = loop();
    traced_ = loop();
  }

  std::vector<Figure> figures() {
    std::vector<Figure> all;
    all.push_back({"an event with a duration, against two readings of the clock and a store of 32 bytes",
                   Rule::cost_ratio_at_most, 2, many, [](std::uint64_t events) { record(events); },
                   [this](std::uint64_t events) { ring_.write(events); }});
    all.push_back({"an event, of the two of a DMA task of 64 B, above the same task untraced", Rule::excess_ns_at_most,
                   20, many,
                   [this](std::uint64_t events) {
                     const auto trace = started();
                     traced_->run(events / events_of_task);
                   },
                   [this](std::uint64_t events) { untraced_->run(events / events_of_task); }});
    all.push_back({"the begin and the end of a trace, against making and dropping the memory of two rings",
                   Rule::cost_ratio_at_most, 2, 16,
                   [](std::uint64_t traces) {
                     for (std::uint64_t i = 0; i < traces; ++i) {
                       started();
                     }
                   },
                   make_shared_memory});
    return all;
  }

 private:
  std::shared_ptr<DmaLoop> loop() { return std::make_shared<DmaLoop>(device_, pe_, src_, dst_, size, depth); }

  static std::shared_ptr<Trace> started() {
    return Trace::start({.events_per_thread = events_per_thread, .fabric = false});
  }
  static void record(std::uint64_t events) {
    const auto trace = started();
    const std::uint32_t name = trace::add_name(TraceNameKind::coroutine, "benchmark");
    for (std::uint64_t i = 0; i < events; ++i) {
      trace::record_await(name, trace::now(), i);
    }
  }

  std::shared_ptr<Device> device_ = Device::open(find_device("p0", Side::dpu));
  std::shared_ptr<ProgressEngine> pe_ = ProgressEngine::create();
  std::shared_ptr<Memory> memory_ = Memory::allocate(2 * size * depth);
  std::shared_ptr<Mmap> src_ = mapped(device_, memory_->data(), size* depth, memory_);
  std::shared_ptr<Mmap> dst_ = mapped(device_, memory_->data() + size * depth, size* depth, memory_);
  std::shared_ptr<DmaLoop> untraced_;
  std::shared_ptr<DmaLoop> traced_;
  BareRing ring_;
};

}  // namespace
}  // namespace pydoca::benchmarks

int main(int argc, char** argv) {
  return pydoca::benchmarks::print_report(argc, argv, [](const pydoca::benchmarks::Print& print) {
    pydoca::benchmarks::Bench bench;
    print(bench.figures());
  });
}
