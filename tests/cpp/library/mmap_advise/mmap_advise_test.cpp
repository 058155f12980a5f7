#include <pydoca/mmap_advise.hpp>
#include <pydoca/sim.hpp>

#include "rig/bytes.hpp"
#include "rig/expect_error.hpp"
#include "rig/library/data_rig.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pydoca {
namespace {

class AdviseRig : public DataRig<MmapAdvise, MmapAdviseInvalidateCacheTask> {
 public:
  AdviseRig(const std::shared_ptr<Device>& device, const std::shared_ptr<ProgressEngine>& engine)
      : DataRig(MmapAdvise::create(device), engine, &MmapAdvise::set_invalidate_cache_conf, 8) {}

  MmapAdviseInvalidateCacheTask& task(Buf* buf, std::uint64_t user_data = 0) {
    MmapAdviseInvalidateCacheTask* task = nullptr;
    EXPECT_EQ(context->invalidate_cache(buf, user_data, task), Status::success);
    return *task;
  }
};

class MmapAdviseTest : public HeldBufsTest {
 protected:
  static constexpr std::size_t memory_size = std::size_t{4} << 20;

  void SetUp() override {
    fill_pattern(memory.bytes, 1);
    ASSERT_EQ(rig.context->start(), Status::success);
  }
  void TearDown() override {
    EXPECT_EQ(rig.context->stop(), Status::success);
    rig.progress_until_idle();
    HeldBufsTest::TearDown();
  }

  std::shared_ptr<Device> device = Device::open(find_device("p0", Side::dpu));
  std::shared_ptr<ProgressEngine> pe = ProgressEngine::create();
  MappedBytes memory{device, memory_size};
  AdviseRig rig{device, pe};
};

TEST_F(MmapAdviseTest, InvalidatesSmallAndLargeBufsAndLosesNothing) {
  const std::vector<std::byte> before = memory.bytes;
  std::uint64_t number = 0;
  for (const std::size_t size : {std::size_t{1}, std::size_t{65}, std::size_t{5000}, memory_size / 2}) {
    ASSERT_EQ(rig.task(hold(bufs.by_data(memory, 3, size)), number).try_submit(), Status::success);
    rig.progress_until(++number);
    EXPECT_EQ(rig.completions.back().status, Status::success) << size;
  }
  EXPECT_EQ(memory.bytes, before);
}

TEST_F(MmapAdviseTest, ATaskHasItsBufWhileItIsInFlight) {
  rig.free_tasks = false;
  Buf* const buf = hold(bufs.by_data(memory, 0, 4096));
  MmapAdviseInvalidateCacheTask& task = rig.task(buf);
  ASSERT_EQ(task.submit(), Status::success);
  EXPECT_TRUE(rig.completions.empty()) << "submit never completes a task";
  EXPECT_TRUE(buf->in_flight());
  EXPECT_EQ(task.set_buf(nullptr), Status::in_use);
  rig.progress_until(1);
  EXPECT_FALSE(buf->in_flight());
  Buf* const other = hold(bufs.by_data(memory, 4096, 64));
  EXPECT_EQ(task.set_buf(other), Status::success);
  EXPECT_EQ(task.buf(), other);
  EXPECT_EQ(task.submit(), Status::success);
  rig.progress_until(2);
  EXPECT_EQ(task.free(), Status::success);
}

TEST_F(MmapAdviseTest, RefusesWhatItCannotInvalidate) {
  const auto expect_invalid = [&](Buf* buf, const char* reason) {
    MmapAdviseInvalidateCacheTask& task = rig.task(buf);
    EXPECT_EQ(task.try_submit(), Status::invalid_value);
    EXPECT_THAT(task.explain(Status::invalid_value), testing::HasSubstr(reason));
    EXPECT_EQ(task.free(), Status::success);
  };
  Buf* const list = hold(bufs.list(memory, 2, true));
  expect_invalid(nullptr, "buf is missing");
  expect_invalid(list, "list of 2");
  expect_invalid(list->next(), "later element");
  expect_invalid(hold(bufs.by_addr(memory, 0, 64)), "no data");
  expect_invalid(hold(bufs.by_data(memory, 0, memory_size / 2 + 1)), "max_buf_size");
  const auto elsewhere = Device::open(find_device("p1", Side::dpu));
  const MappedBytes other(elsewhere, 64);
  expect_invalid(hold(bufs.by_data(other, 0, 64)), "was not added");
  free_held();
}

TEST_F(MmapAdviseTest, WhatWasNotCheckedFailsInTheDeviceAndStopsTheContext) {
  rig.expect_refused(rig.task(nullptr), "buf is missing; set it before the task is submitted", false);
}

TEST_F(MmapAdviseTest, ABufThatWasGivenBackIsNotTaken) {
  Buf* const freed = bufs.by_data(memory, 0, 64);
  Bufs::free({freed});
  rig.expect_not_taken(rig.task(freed), "buf");
}

TEST_F(MmapAdviseTest, IsConfiguredWhileIdle) {
  const auto callback = [](Task&, std::uint64_t, std::uint64_t) noexcept {};
  EXPECT_EQ(thrown_by([&] { rig.context->set_invalidate_cache_conf(callback, callback, 1); }), Status::not_permitted);
  const auto other = MmapAdvise::create(device);
  EXPECT_EQ(thrown_by([&] { other->set_invalidate_cache_conf(callback, nullptr, 1); }), Status::invalid_value);
  EXPECT_EQ(thrown_by([&] { other->set_invalidate_cache_conf(callback, callback, 0); }), Status::invalid_value);
  other->close();
}

TEST_F(MmapAdviseTest, AFunctionOfTheHostHasNoCacheOfTheDpu) {
  const auto host = Device::open(find_device("pf0", Side::host));
  EXPECT_FALSE(MmapAdvise::is_supported(host->info()));
  EXPECT_TRUE(MmapAdvise::is_supported(device->info()));
  EXPECT_EQ(thrown_by([&] { MmapAdvise::create(host); }), Status::not_supported);
  EXPECT_EQ(thrown_by([&] { MmapAdvise::max_buf_size(host->info()); }), Status::not_supported);
  EXPECT_EQ(MmapAdvise::max_buf_size(device->info()), memory_size / 2);
}

}  // namespace
}  // namespace pydoca
