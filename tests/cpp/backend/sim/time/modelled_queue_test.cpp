/// A simulated device with a timing model, in real time. What is measured has lower bounds only.

#include <pydoca/sim.hpp>

#include "detail/time/time.hpp"
#include "rig/bytes.hpp"
#include "rig/expect_error.hpp"
#include "rig/library/dma_rig.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <vector>

namespace pydoca {
namespace {

using namespace std::chrono_literals;

/// A DMA context of a function of the DPU, whose copies have the model that the test gives.
class ModelledDmaTest : public HeldBufsTest {
 protected:
  static constexpr std::size_t memory_size = std::size_t{4} << 20;

  void start(const sim::OperationTiming& dma, std::uint64_t seed = 0, bool ordered = false) {
    sim::Config config;
    config.seed = seed;
    config.timing.operations["dma"] = dma;
    sim::set_config(config);
    device = Device::open(find_device("p0", Side::dpu));
    src.emplace(device, memory_size);
    dst.emplace(device, memory_size);
    fill_pattern(src->bytes, 3);
    rig.emplace(device, pe, 64);
    rig->dma->set_ordered_completions(ordered);
    EXPECT_EQ(rig->dma->start(), Status::success);
  }
  void TearDown() override {
    if (rig.has_value()) {
      static_cast<void>(rig->dma->stop());
      rig->progress_until_idle();
    }
    HeldBufsTest::TearDown();
  }
  /// A copy of size bytes between places of its own.
  DmaMemcpyTask& submit(std::uint64_t number, std::size_t size = 64) {
    const std::size_t offset = number * size;
    Buf* const from = hold(bufs.by_data(*src, offset, size));
    return rig->submitted(from, hold(bufs.by_addr(*dst, offset, size)), number);
  }
  bool is_copied(std::size_t size) const {
    return same(std::span(src->bytes).first(size), std::span(dst->bytes).first(size));
  }
  std::vector<std::uint64_t> numbers() const {
    std::vector<std::uint64_t> all;
    for (const auto& completion : rig->completions) {
      all.push_back(completion.user_data);
    }
    return all;
  }

  std::shared_ptr<Device> device;
  std::shared_ptr<ProgressEngine> pe = ProgressEngine::create();
  std::optional<MappedBytes> src;
  std::optional<MappedBytes> dst;
  std::optional<DmaRig> rig;
};

TEST_F(ModelledDmaTest, ACopyTakesItsLatencyAtLeast) {
  start({.latency = 3ms});
  const std::uint64_t begin = detail::now();
  submit(0, 4096);
  rig->progress_until(1);
  EXPECT_GE(detail::now() - begin, 3'000'000U);
  EXPECT_EQ(rig->completions.front().status, Status::success);
  EXPECT_TRUE(is_copied(4096));
}

TEST_F(ModelledDmaTest, AStreamTakesTheTimeOfItsBytesAtLeast) {
  start({.bandwidth = 1e9});
  const std::uint64_t begin = detail::now();
  for (std::uint64_t i = 0; i < 4; ++i) {
    submit(i, std::size_t{1} << 20);
  }
  rig->progress_until(4);
  EXPECT_GE(detail::now() - begin, 4'194'304U);
  EXPECT_TRUE(is_copied(memory_size));
}

TEST_F(ModelledDmaTest, TwoContextsShareTheEngine) {
  start({.bandwidth = 1e9});
  const auto other_pe = ProgressEngine::create();
  DmaRig other(device, other_pe, 4);
  EXPECT_EQ(other.dma->start(), Status::success);
  const std::uint64_t begin = detail::now();
  submit(0, std::size_t{2} << 20);
  other.submitted(hold(bufs.by_data(*src, 0, 2U << 20U)), hold(bufs.by_addr(*dst, 2U << 20U, 2U << 20U)));
  other.progress_until(1);
  EXPECT_GE(detail::now() - begin, 4'194'304U);
  rig->progress_until(1);
  static_cast<void>(other.dma->stop());
}

TEST_F(ModelledDmaTest, NothingIsDoneInsideSubmit) {
  start({.latency = 1us});
  submit(0);
  EXPECT_FALSE(is_copied(64));
  rig->progress_until(1);
  EXPECT_TRUE(is_copied(64));
}

TEST_F(ModelledDmaTest, UnlessTheModelSaysSo) {
  start({.latency = 1us, .executes_in_submit = true});
  submit(0);
  EXPECT_TRUE(is_copied(64));
  EXPECT_TRUE(rig->completions.empty());
  rig->progress_until(1);
}

TEST_F(ModelledDmaTest, AFullQueueAnswersAgain) {
  start({.latency = 1h, .queue_depth = 2});
  submit(0);
  submit(1);
  DmaMemcpyTask& third = rig->task(hold(bufs.by_data(*src, 128, 64)), hold(bufs.by_addr(*dst, 128, 64)));
  EXPECT_EQ(third.submit(), Status::again);
  EXPECT_EQ(third.free(), Status::success);
}

TEST_F(ModelledDmaTest, AStopBringsBackAtOnceWhatIsNotDue) {
  start({.latency = 1h});
  for (std::uint64_t i = 0; i < 5; ++i) {
    submit(i, i < 3 ? 64 : 512 * 1024);
  }
  for (int i = 0; i < 10; ++i) {
    pe->progress();
  }
  static_cast<void>(rig->dma->stop());
  rig->progress_until_idle();
  ASSERT_EQ(rig->completions.size(), 5U);
  for (const auto& completion : rig->completions) {
    EXPECT_EQ(completion.status, Status::shutdown);
  }
}

TEST_F(ModelledDmaTest, WhatWasNotFlushedIsNotExecutedByAStop) {
  start({.latency = 1us});
  DmaMemcpyTask& task = rig->task(hold(bufs.by_data(*src, 0, 64)), hold(bufs.by_addr(*dst, 0, 64)));
  EXPECT_EQ(task.submit(SubmitFlags::none), Status::success);
  static_cast<void>(rig->dma->stop());
  rig->progress_until_idle();
  EXPECT_EQ(rig->completions.front().status, Status::shutdown);
  EXPECT_FALSE(is_copied(64));
}

TEST_F(ModelledDmaTest, ARemovalBringsBackAtOnceWhatIsNotDue) {
  start({.latency = 1h});
  for (std::uint64_t i = 0; i < 3; ++i) {
    submit(i);
  }
  pe->progress();
  sim::remove_device("p0");
  rig->progress_until(3);
  EXPECT_EQ(rig->completions[0].status, Status::driver);
  EXPECT_EQ(rig->completions[1].status, Status::shutdown);
  EXPECT_EQ(rig->completions[2].status, Status::shutdown);
  EXPECT_EQ(rig->dma->failure(), Status::driver);
}

TEST_F(ModelledDmaTest, AFailureComesBackInItsTurnAndEndsTheContext) {
  start({.latency = 100us});
  submit(0);
  rig->submitted(hold(bufs.by_data(*src, 0, 64)), nullptr, 1);
  submit(2);
  rig->progress_until(3);
  EXPECT_EQ(numbers(), (std::vector<std::uint64_t>{0, 1, 2}));
  EXPECT_EQ(rig->completions[0].status, Status::success);
  EXPECT_EQ(rig->completions[1].status, Status::io_failed);
  EXPECT_EQ(rig->completions[2].status, Status::shutdown);
  EXPECT_EQ(rig->dma->failure(), Status::io_failed);
}

TEST_F(ModelledDmaTest, AnEngineThatSleepsIsWokenWhenACopyIsDue) {
  start({.latency = 2ms});
  const std::uint64_t begin = detail::now();
  submit(0);
  submit(1, 1U << 20U);
  rig->sleep_until(2);
  EXPECT_GE(detail::now() - begin, 2'000'000U);
}

TEST_F(ModelledDmaTest, JitterKeepsTheOrderWithoutAWindow) {
  start({.latency = 10us, .jitter = sim::Jitter{sim::JitterDistribution::exponential, 50us}}, 4);
  std::vector<std::uint64_t> expected;
  for (std::uint64_t i = 0; i < 40; ++i) {
    submit(i);
    expected.push_back(i);
  }
  rig->progress_until(40);
  EXPECT_EQ(numbers(), expected);
}

TEST_F(ModelledDmaTest, AWindowReordersAndOrderedCompletionsDoNot) {
  const sim::OperationTiming timing{.latency = 10us, .bandwidth = 1e6, .reorder_window = 8};
  start(timing, 4);
  for (std::uint64_t i = 0; i < 40; ++i) {
    submit(i);
  }
  rig->progress_until(40);
  EXPECT_FALSE(std::ranges::is_sorted(numbers()));
  EXPECT_TRUE(is_copied(std::size_t{40} * 64));
  TearDown();
  rig.reset();
  start(timing, 4, true);
  for (std::uint64_t i = 0; i < 40; ++i) {
    submit(i);
  }
  rig->progress_until(40);
  EXPECT_TRUE(std::ranges::is_sorted(numbers()));
}

TEST_F(ModelledDmaTest, AnOpenDeviceKeepsItsModelAndIsAnotherOneWhenItIsOpenedAgain) {
  const auto before = Device::open(find_device("p0", Side::dpu));
  sim::set_config({});
  EXPECT_EQ(Device::open(find_device("p0", Side::dpu)), before);
  before->close();
  start({.latency = 1h});
  EXPECT_NE(device, before);
  EXPECT_EQ(Device::open(find_device("p0", Side::dpu)), device);
  device->close();
  submit(0);
  sim::set_config({});
  for (int i = 0; i < 1000; ++i) {
    pe->progress();
  }
  EXPECT_TRUE(rig->completions.empty());
}

TEST_F(ModelledDmaTest, AnotherFunctionIsAsFastAsBefore) {
  start({});
  sim::Config config;
  config.devices["p1"].operations["dma"].latency = 1h;
  sim::set_config(config);
  submit(0);
  rig->progress_until(1);
  const auto other = Device::open(find_device("p1", Side::dpu));
  MappedBytes memory(other, 128);
  DmaRig slow(other, pe, 2);
  EXPECT_EQ(slow.dma->start(), Status::success);
  slow.submitted(hold(bufs.by_data(memory, 0, 64)), hold(bufs.by_addr(memory, 64, 64)));
  for (int i = 0; i < 1000; ++i) {
    pe->progress();
  }
  EXPECT_TRUE(slow.completions.empty());
  static_cast<void>(slow.dma->stop());
  slow.progress_until_idle();
}

}  // namespace
}  // namespace pydoca
