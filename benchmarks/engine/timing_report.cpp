// The timing model against the table that it was made from: copies of 64 B to 64 MiB, 1 to 64 in flight, in real time.
// usage: timing_report [--latency NS] [--bandwidth BYTES_PER_SECOND] [--json] [--check]
//
// The floor of a figure is the time of its table. A modelled device cannot be faster than this machine: where the same
// copies take longer with a model of no time, that time is the floor, and the figure counts as ok. --check: exit code 1
// when another figure is off by more than 3 %; for a machine that does nothing else.
#include "pydoca/memory.hpp"
#include "pydoca/sim.hpp"

#include "dma_loop.hpp"
#include "figure.hpp"
#include "print_report.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

namespace pydoca::benchmarks {
namespace {

constexpr std::size_t memory_size = std::size_t{64} << 20;
constexpr double tolerance = 1.03;  // times the table, or a part of it
constexpr double run_ns = 1e6;      // what a run takes, about: short beside a time slice of a busy machine
constexpr auto patience = std::chrono::milliseconds(500);

struct Asked {
  double latency_ns = 10'000;
  double bandwidth = 2e9;  // bytes a second
  bool json = false;
  bool check = false;
};

Asked parse_asked(int argc, char** argv) {
  Asked asked;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--json") {
      asked.json = true;
    } else if (argument == "--check") {
      asked.check = true;
    } else if (i + 1 < argc && argument == "--latency") {
      asked.latency_ns = std::strtod(argv[++i], nullptr);
    } else if (i + 1 < argc && argument == "--bandwidth") {
      asked.bandwidth = std::strtod(argv[++i], nullptr);
    }
  }
  return asked;
}

/// The guide's machine, whose DPU takes copies of up to 64 MiB.
void use_large_copies() {
  sim::set_fabric("benchmark-" + std::to_string(::getpid()));
  sim::Topology topology = sim::default_topology();
  for (sim::Function& function : topology.functions) {
    function.properties.capabilities.dma->max_buf_size = memory_size;
  }
  sim::set_topology(std::move(topology));
}

/// Memory, and what copies take on a device that is opened with the configuration in force.
class Bench {
 public:
  Bench() {
    std::memset(src_->data(), 1, memory_size);
    std::memset(dst_->data(), 2, memory_size);
  }

  /// Nanoseconds of a run of count copies, with depth in flight: the shortest of many runs, because whatever else the
  /// machine does makes a run longer, and a model is never ahead of its table.
  double time_of(std::size_t size, std::uint32_t depth, std::uint64_t count) {
    const auto device = Device::open(find_device("p0", Side::dpu));
    const auto src = mapped(device, src_->data(), memory_size, src_);
    const auto dst = mapped(device, dst_->data(), memory_size, dst_);
    DmaLoop loop(device, ProgressEngine::create(), src, dst, size, depth);
    loop.run(depth);
    double shortest = std::numeric_limits<double>::infinity();
    const auto end = std::chrono::steady_clock::now() + patience;
    for (int runs = 0; runs < 3 || std::chrono::steady_clock::now() < end; ++runs) {
      shortest = std::min(shortest, ns_per_unit([&](std::uint64_t) { loop.run(count); }, 1));
    }
    return shortest;
  }

 private:
  std::shared_ptr<Memory> src_ = Memory::allocate(memory_size);
  std::shared_ptr<Memory> dst_ = Memory::allocate(memory_size);
};

/// Nanoseconds of a run by the table: the engine serves one copy after another, and a copy that is done makes place for
/// the next.
double expected_of(const Asked& asked, std::size_t size, std::uint32_t depth, std::uint64_t count) {
  const double busy = static_cast<double>(size) * 1e9 / asked.bandwidth;
  std::vector<double> done(depth, 0);
  double free_at = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    double& slot = done[i % depth];
    free_at = std::max(free_at, slot) + busy;
    slot = free_at + asked.latency_ns;
  }
  return *std::ranges::max_element(done);
}

std::string text_of(std::size_t size) {
  constexpr std::size_t ki = 1024;
  if (size < ki) {
    return std::to_string(size) + " B";
  }
  return size < ki * ki ? std::to_string(size / ki) + " KiB" : std::to_string(size / ki / ki) + " MiB";
}

void model(const sim::OperationTiming& timing) {
  sim::Config config;
  config.timing.operations["dma"] = timing;
  sim::set_config(config);
}

void report(const Asked& asked, Bench& bench, std::size_t size, std::uint32_t depth, Printer& printer) {
  const double busy = static_cast<double>(size) * 1e9 / asked.bandwidth;
  const double each_ns = std::max(busy, (asked.latency_ns + busy) / depth);
  const auto count = depth + static_cast<std::uint64_t>(run_ns / each_ns);
  const double expected = expected_of(asked, size, depth, count);
  model({.latency = std::chrono::nanoseconds(0)});
  const double machine = bench.time_of(size, depth, count);
  model({.latency = std::chrono::nanoseconds(std::llround(asked.latency_ns)), .bandwidth = asked.bandwidth});
  const double modelled = bench.time_of(size, depth, count);
  const double floor = std::max(expected, machine);
  const double score = std::max(modelled / floor, floor / modelled);
  const auto each = static_cast<double>(count);
  printer.print({"modelled copy of " + text_of(size) + ", " + std::to_string(depth) + " in flight, against its table",
                 Rule::cost_ratio_at_most, tolerance, count, nullptr, nullptr},
                {modelled / each, floor / each, score, machine > expected || score <= tolerance});
}

int check_model(const Asked& asked) {
  use_large_copies();
  Bench bench;
  Printer printer(asked.json);
  for (std::size_t size = 64; size <= memory_size; size *= 16) {
    for (const std::uint32_t depth : {1U, 4U, 16U, 64U}) {
      report(asked, bench, size, depth, printer);
    }
  }
  return asked.check && !printer.all_ok() ? 1 : 0;
}

}  // namespace
}  // namespace pydoca::benchmarks

int main(int argc, char** argv) try {
  return pydoca::benchmarks::check_model(pydoca::benchmarks::parse_asked(argc, argv));
} catch (const pydoca::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
