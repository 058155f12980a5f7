#include <pydoca/mmap_advise.hpp>
#include <pydoca/progress_engine.hpp>

#include "rig/allocation_counter.hpp"
#include "rig/library/memory_rig.hpp"

#include <gtest/gtest.h>

namespace pydoca {
namespace {

TEST(MmapAdviseAllocation, TheDataPathDoesNotAllocate) {
  const auto device = Device::open(find_device("p0", Side::dpu));
  const auto pe = ProgressEngine::create();
  const auto advise = MmapAdvise::create(device);
  const auto count = [](Task& task, std::uint64_t, std::uint64_t counter) noexcept {
    ++*std::bit_cast<std::uint64_t*>(counter);
    EXPECT_EQ(task.free(), Status::success);
  };
  std::uint64_t completed = 0;
  advise->set_invalidate_cache_conf(count, count, 8);
  advise->set_user_data(address_of(&completed));
  pe->connect(advise);
  EXPECT_EQ(advise->start(), Status::success);
  MappedBytes memory(device, 200'000);
  Bufs bufs(1);
  Buf* const buf = bufs.by_data(memory, 0, 100'000);
  const std::uint64_t before = num_allocations();
  for (int i = 0; i < 100; ++i) {
    MmapAdviseInvalidateCacheTask* task = nullptr;
    ASSERT_EQ(buf->set_data_len(i % 2 == 0 ? 64 : 100'000), Status::success);
    ASSERT_EQ(advise->invalidate_cache(buf, 0, task), Status::success);
    ASSERT_EQ(task->try_submit(), Status::success);
    const std::uint64_t known = completed;
    while (completed == known) {
      pe->progress();
    }
  }
  EXPECT_EQ(num_allocations() - before, 0U);
  EXPECT_EQ(advise->stop(), Status::success);
  Bufs::free({buf});
}

}  // namespace
}  // namespace pydoca
