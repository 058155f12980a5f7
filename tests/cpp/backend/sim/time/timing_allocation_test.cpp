/// A queue with a timing model allocates nothing after start, either.
#include <pydoca/sim.hpp>

#include "rig/allocation_counter.hpp"
#include "rig/library/dma_rig.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace pydoca {
namespace {

TEST(TimingAllocationTest, ModelledCopiesAllocateNothing) {
  sim::Config config;
  config.timing.operations["dma"] = {
      .latency = std::chrono::microseconds(1),
      .bandwidth = 1e9,
      .jitter = sim::Jitter{sim::JitterDistribution::lognormal, std::chrono::nanoseconds(100)},
      .reorder_window = 4};
  sim::set_config(config);
  const auto device = Device::open(find_device("p0", Side::dpu));
  const auto pe = ProgressEngine::create();
  MappedBytes src(device, 4096);
  MappedBytes dst(device, 4096);
  Bufs bufs(32);
  DmaRig rig(device, pe, 16);
  rig.free_tasks = false;
  rig.completions.reserve(256);
  EXPECT_EQ(rig.dma->start(), Status::success);
  std::vector<DmaMemcpyTask*> tasks;
  std::vector<Buf*> held;
  for (std::size_t i = 0; i < 16; ++i) {
    held.push_back(bufs.by_data(src, i * 64, 64));
    held.push_back(bufs.by_addr(dst, i * 64, 64));
    tasks.push_back(&rig.task(held[2 * i], held[2 * i + 1]));
  }
  const std::uint64_t before = num_allocations();
  for (std::size_t round = 1; round <= 10; ++round) {
    for (DmaMemcpyTask* const task : tasks) {
      EXPECT_EQ(task->dst()->reset_data_len(), Status::success);
      ASSERT_EQ(task->submit(), Status::success);
    }
    while (rig.completions.size() < 16 * round) {
      pe->progress();
    }
  }
  EXPECT_EQ(num_allocations() - before, 0U);
  for (DmaMemcpyTask* const task : tasks) {
    EXPECT_EQ(task->free(), Status::success);
  }
  for (Buf* const buf : held) {
    EXPECT_EQ(buf->dec_refcount(), Status::success);
  }
  static_cast<void>(rig.dma->stop());
  sim::set_config({});
}

}  // namespace
}  // namespace pydoca
