#include <pydoca/progress_engine.hpp>
#include <pydoca/sha.hpp>
#include <pydoca/sim.hpp>

#include "rig/allocation_counter.hpp"
#include "rig/library/memory_rig.hpp"

#include <gtest/gtest.h>

namespace pydoca {
namespace {

TEST(ShaAllocation, TheDataPathDoesNotAllocate) {
  sim::set_topology(sim::default_topology("bluefield2"));
  const auto device = Device::open(find_device("p0", Side::dpu));
  const auto pe = ProgressEngine::create();
  const auto sha = Sha::create(device);
  const auto count = [](Task& task, std::uint64_t, std::uint64_t counter) noexcept {
    ++*std::bit_cast<std::uint64_t*>(counter);
    EXPECT_EQ(task.free(), Status::success);
  };
  std::uint64_t completed = 0;
  sha->set_hash_conf(count, count, 8);
  sha->set_user_data(address_of(&completed));
  pe->connect(sha);
  EXPECT_EQ(sha->start(), Status::success);
  MappedBytes memory(device, 200'000);
  Bufs bufs(4);
  Buf* const src = bufs.by_data(memory, 0, 100'000);
  Buf* const dst = bufs.by_addr(memory, 100'000, 64);
  const auto hash_once = [&](std::size_t len) {
    ShaHashTask* task = nullptr;
    bool ok = src->set_data_len(len) == Status::success && dst->reset_data_len() == Status::success;
    ok = ok && sha->hash(src, dst, ShaAlgorithm::sha256, 0, task) == Status::success;
    ok = ok && task->try_submit() == Status::success;
    const std::uint64_t before = completed;
    while (ok && completed == before) {
      pe->progress();
    }
    return ok;
  };
  // A worker prepares its digests with its first message.
  ASSERT_TRUE(hash_once(100'000));
  for (const std::size_t len : {std::size_t{64}, std::size_t{4096}}) {
    const std::uint64_t before = num_allocations();
    for (int i = 0; i < 100; ++i) {
      ASSERT_TRUE(hash_once(len));
    }
    EXPECT_EQ(num_allocations() - before, 0U) << len;
  }
  EXPECT_EQ(sha->stop(), Status::success);
  Bufs::free({src, dst});
}

}  // namespace
}  // namespace pydoca
