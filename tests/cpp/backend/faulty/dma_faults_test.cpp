#include "backend/faulty/faults_rig.hpp"
#include "rig/bytes.hpp"
#include "rig/expect_error.hpp"
#include "rig/library/dma_rig.hpp"

#include <algorithm>
#include <bit>
#include <optional>

namespace pydoca {

using namespace std::chrono_literals;

/// Copies on a device of the DPU that has the plan's faults.
class DmaFaults : public FaultsTest {
 protected:
  static constexpr std::size_t size = 4096;

  void start(std::vector<FaultRule> rules, bool ordered = false) {
    inject(std::move(rules));
    device = Device::open(find_device("p0", Side::dpu));
    pe = ProgressEngine::create();
    src.emplace(device, size);
    dst.emplace(device, size);
    fill_pattern(src->bytes, 7);
    rig.emplace(device, pe, 32);
    rig->dma->set_ordered_completions(ordered);
    ASSERT_EQ(rig->dma->start(), Status::success);
  }
  void TearDown() override {
    if (rig) {
      static_cast<void>(rig->dma->stop());
      rig->progress_until_idle();
      rig->dma->close();
      rig.reset();
    }
    for (Buf* const buf : held) {
      EXPECT_EQ(buf->dec_refcount(), Status::success);
    }
    src.reset();
    dst.reset();
    if (device != nullptr && device->is_open()) {
      device->close();
    }
  }

  Buf* hold(Buf* buf) { return held.emplace_back(buf); }
  void copy(std::uint64_t user_data = 0, std::size_t offset = 0, std::size_t len = 64) {
    rig->submitted(hold(bufs.by_data(*src, offset, len)), hold(bufs.by_addr(*dst, offset, len)), user_data);
  }
  /// Progresses for a while that is long enough for a copy.
  void progress_for_a_while() {
    const auto end = std::chrono::steady_clock::now() + 20ms;
    while (std::chrono::steady_clock::now() < end) {
      pe->progress();
    }
  }
  Status status_of(std::size_t completion) const { return rig->completions.at(completion).status; }
  std::size_t differing(std::size_t len = 64) const {
    std::size_t count = 0;
    for (std::size_t i = 0; i < len; ++i) {
      count += src->bytes[i] != dst->bytes[i] ? 1U : 0U;
    }
    return count;
  }

  std::shared_ptr<Device> device;
  std::shared_ptr<ProgressEngine> pe;
  std::optional<MappedBytes> src;
  std::optional<MappedBytes> dst;
  Bufs bufs{256};
  std::optional<DmaRig> rig;
  std::vector<Buf*> held;
};

TEST_F(DmaFaults, TheNthCopyFailsUndoneAndItsContextStops) {
  start({{.opcodes = {"dma.memcpy"}, .nth = 2}});
  copy(1);
  rig->progress_until(1);
  fill(dst->bytes, std::byte{0});
  copy(2);
  copy(3, 128);
  rig->progress_until_idle();
  EXPECT_EQ(status_of(0), Status::success);
  EXPECT_EQ(status_of(1), Status::io_failed);
  EXPECT_EQ(status_of(2), Status::shutdown);
  EXPECT_EQ(dst->bytes[0], std::byte{0});
  EXPECT_EQ(rig->dma->failure(), Status::io_failed);
  EXPECT_EQ(report().matched, 2U);
  EXPECT_EQ(report().triggered, 1U);
  ASSERT_EQ(rig->dma->start(), Status::success);
  copy(4);
  rig->progress_until(4);
  EXPECT_EQ(status_of(3), Status::success);
}

TEST_F(DmaFaults, ADroppedCompletionIsFlushedWhenTheContextStops) {
  start({{.action = FaultAction::drop, .nth = 1}});
  copy(1);
  copy(2, 64);
  rig->progress_until(1);
  progress_for_a_while();
  ASSERT_EQ(rig->completions.size(), 1U);
  EXPECT_EQ(rig->completions[0].user_data, 2U);
  EXPECT_EQ(rig->dma->num_inflight_tasks(), 1U);
  static_cast<void>(rig->dma->stop());
  rig->progress_until_idle();
  EXPECT_EQ(rig->completions.at(1), (DmaRig::Completion{1, Status::shutdown, true}));
}

TEST_F(DmaFaults, AContextIsDestroyedWithADroppedCompletion) {
  start({{.action = FaultAction::drop}});
  copy();
  progress_for_a_while();
  rig.reset();
}

TEST_F(DmaFaults, ADelayedCompletionWakesASleepingEngine) {
  start({{.action = FaultAction::delay, .by = 30ms}});
  const auto begin = std::chrono::steady_clock::now();
  copy();
  rig->sleep_until(1);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 30ms);
  EXPECT_EQ(status_of(0), Status::success);
  EXPECT_EQ(differing(), 0U);
}

TEST_F(DmaFaults, AnUnorderedCopyOvertakesADelayedOneAndAnOrderedOneDoesNot) {
  for (const bool ordered : {false, true}) {
    start({{.action = FaultAction::delay, .nth = 1, .by = 20ms}}, ordered);
    copy(1);
    copy(2, 64);
    rig->progress_until(2);
    EXPECT_EQ(rig->completions[0].user_data, ordered ? 1U : 2U);
    TearDown();
    held.clear();
    plan->remove();
  }
}

TEST_F(DmaFaults, OneBitIsFlippedAndTheCopySucceeds) {
  start({{.action = FaultAction::corrupt, .offset = 5}});
  copy();
  rig->progress_until(1);
  EXPECT_EQ(status_of(0), Status::success);
  EXPECT_EQ(differing(), 1U);
  EXPECT_EQ(std::popcount(std::to_integer<unsigned>(src->bytes[5] ^ dst->bytes[5])), 1);
}

TEST_F(DmaFaults, AByteIsStuck) {
  start({{.action = FaultAction::corrupt, .corruption = Corruption::byte, .offset = 3, .value = 0x5a}});
  copy();
  rig->progress_until(1);
  EXPECT_EQ(dst->bytes[3], std::byte{0x5a});
  EXPECT_LE(differing(), 1U);
}

TEST_F(DmaFaults, TheDestinationKeepsStaleDataAndTheCopySucceeds) {
  start({{.action = FaultAction::corrupt, .corruption = Corruption::stale}});
  fill(dst->bytes, std::byte{0xee});
  copy();
  rig->sleep_until(1);
  EXPECT_EQ(status_of(0), Status::success);
  EXPECT_EQ(dst->bytes[0], std::byte{0xee});
  EXPECT_EQ(held[1]->data_len(), 64U);
}

TEST_F(DmaFaults, AShortCopyClaimsToBeWhole) {
  start({{.action = FaultAction::misreport_length, .length = 10}});
  fill(dst->bytes, std::byte{0});
  copy();
  rig->progress_until(1);
  EXPECT_EQ(status_of(0), Status::success);
  EXPECT_EQ(held[1]->data_len(), 64U);
  EXPECT_TRUE(same(std::span(src->bytes).first(10), std::span(dst->bytes).first(10)));
  EXPECT_TRUE(std::ranges::all_of(std::span(dst->bytes).subspan(10), [](std::byte b) { return b == std::byte{0}; }));
}

TEST_F(DmaFaults, AFullQueueAnswersAgain) {
  start({{.action = FaultAction::full, .times = 2}});
  DmaMemcpyTask& task = rig->task(hold(bufs.by_data(*src, 0, 64)), hold(bufs.by_addr(*dst, 0, 64)));
  EXPECT_EQ(task.submit(), Status::again);
  EXPECT_EQ(task.submit(), Status::again);
  EXPECT_EQ(task.submit(), Status::success);
  rig->progress_until(1);
}

TEST_F(DmaFaults, ALostNotificationIsMadeUpForByTheNext) {
  start({{.action = FaultAction::lose_notification, .nth = 1}});
  copy(1);
  progress_for_a_while();
  EXPECT_TRUE(rig->completions.empty());
  copy(2, 64);
  rig->progress_until(2);
  EXPECT_EQ(status_of(0), Status::success);
  EXPECT_EQ(status_of(1), Status::success);
}

TEST_F(DmaFaults, ADuplicateIsDoneTwiceAndCompletesOnce) {
  start({{.action = FaultAction::duplicate}});
  copy();
  rig->progress_until(1);
  progress_for_a_while();
  EXPECT_EQ(rig->completions.size(), 1U);
  EXPECT_EQ(differing(), 0U);
}

TEST_F(DmaFaults, ARemovedDeviceFailsWhatItHasAndLeavesTheEnumeration) {
  start({{.action = FaultAction::remove_device, .nth = 2}});
  copy(1);
  rig->progress_until(1);
  copy(2, 64);
  copy(3, 128);
  rig->progress_until_idle();
  EXPECT_EQ(status_of(1), Status::driver);
  EXPECT_EQ(status_of(2), Status::shutdown);
  EXPECT_TRUE(device->removed());
  EXPECT_EQ(rig->dma->failure(), Status::driver);
  EXPECT_EQ(thrown_by([] { find_device("p0", Side::dpu); }), Status::not_found);
  plan->remove();
  EXPECT_EQ(find_device("p0", Side::dpu).name(), "p0");
}

TEST_F(DmaFaults, APlanThatIsRemovedMeetsNothing) {
  start({{.action = FaultAction::fail}});
  plan->remove();
  copy();
  rig->progress_until(1);
  EXPECT_EQ(status_of(0), Status::success);
  EXPECT_TRUE(device->replaced());
}

TEST_F(DmaFaults, TheSameSeedMeetsTheSameOperations) {
  const auto met = [&](std::uint64_t seed) {
    inject({{.action = FaultAction::full, .probability = 0.3}}, seed);
    const auto opened = Device::open(find_device("p0", Side::dpu));
    DmaRig copies(opened, ProgressEngine::create(), 4);
    MappedBytes memory(opened, 256);
    EXPECT_EQ(copies.dma->start(), Status::success);
    std::vector<bool> refused;
    for (int i = 0; i < 64; ++i) {
      DmaMemcpyTask& task = copies.task(bufs.by_data(memory, 0, 8), bufs.by_addr(memory, 128, 8));
      Buf* const from = task.src();
      Buf* const to = task.dst();
      refused.push_back(task.submit() == Status::again);
      if (refused.back()) {
        EXPECT_EQ(task.free(), Status::success);
      } else {
        copies.progress_until(copies.completions.size() + 1);
      }
      Bufs::free({from, to});
    }
    static_cast<void>(copies.dma->stop());
    copies.progress_until_idle();
    copies.dma->close();
    plan->remove();
    return refused;
  };
  const std::vector<bool> first = met(5);
  EXPECT_EQ(met(5), first);
  EXPECT_NE(met(6), first);
  EXPECT_NEAR(static_cast<double>(std::ranges::count(first, true)), 19, 15);
}

/// Data that is to reach another process's memory is changed before it leaves.
TEST_F(DmaFaults, ACopyIntoTheMemoryOfTheOtherSideIsCorrupted) {
  inject({{.action = FaultAction::corrupt, .device = "p0", .offset = 2}});
  const auto host = Device::open(find_device("pf0", Side::host));
  const auto dpu = Device::open(find_device("p0", Side::dpu));
  MappedBytes there(host, 64, Access::local_read_write | Access::pci_read_write);
  const auto imported = Mmap::create_from_export(dpu, there.mmap->export_pci(*host));
  MappedBytes here(dpu, 64);
  fill_pattern(here.bytes, 3);
  DmaRig copies(dpu, ProgressEngine::create(), 4);
  EXPECT_EQ(copies.dma->start(), Status::success);
  Buf* to = nullptr;
  ASSERT_EQ(bufs.inventory->get_by_addr(imported, there.addr(), 64, to), Status::success);
  Buf* const from = bufs.by_data(here, 0, 64);
  copies.submitted(from, to);
  copies.progress_until(1);
  EXPECT_EQ(copies.completions[0].status, Status::success);
  EXPECT_NE(here.bytes[2], there.bytes[2]);
  EXPECT_TRUE(same(std::span(here.bytes).subspan(3), std::span(there.bytes).subspan(3)));
  Bufs::free({from, to});
  static_cast<void>(copies.dma->stop());
  copies.progress_until_idle();
  copies.dma->close();
}

}  // namespace pydoca
