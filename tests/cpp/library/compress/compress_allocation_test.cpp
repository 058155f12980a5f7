#include <pydoca/compress.hpp>
#include <pydoca/progress_engine.hpp>

#include "rig/allocation_counter.hpp"
#include "rig/library/compress_rig.hpp"
#include "rig/library/memory_rig.hpp"

#include <gtest/gtest.h>

namespace pydoca {
namespace {

TEST(CompressAllocation, TheDataPathDoesNotAllocate) {
  const auto device = Device::open(find_device("p0", Side::dpu));
  const auto pe = ProgressEngine::create();
  const auto compress = Compress::create(device);
  const auto count = [](Task& task, std::uint64_t, std::uint64_t counter) noexcept {
    ++*std::bit_cast<std::uint64_t*>(counter);
    EXPECT_EQ(task.free(), Status::success);
  };
  std::uint64_t completed = 0;
  compress->set_decompress_deflate_conf(count, count, 8);
  compress->set_user_data(address_of(&completed));
  pe->connect(compress);
  EXPECT_EQ(compress->start(), Status::success);
  const ByteVector small = stored(ByteVector(100));
  const ByteVector large = stored(ByteVector(100'000));
  MappedBytes memory(device, 400'000);
  std::ranges::copy(small, memory.bytes.begin());
  std::ranges::copy(large, memory.bytes.begin() + 1000);
  Bufs bufs(4);
  Buf* const dst = bufs.by_addr(memory, 200'000, 200'000);
  const auto expand = [&](Buf* src) {
    CompressDecompressDeflateTask* task = nullptr;
    bool ok = dst->reset_data_len() == Status::success;
    ok = ok && compress->decompress_deflate(src, dst, 0, task) == Status::success;
    ok = ok && task->try_submit() == Status::success;
    const std::uint64_t before = completed;
    while (ok && completed == before) {
      pe->progress();
    }
    return ok;
  };
  Buf* const sources[] = {bufs.by_data(memory, 0, small.size()), bufs.by_data(memory, 1000, large.size())};
  // A worker prepares the state of its streams with its first one.
  ASSERT_TRUE(expand(sources[1]));
  for (Buf* const src : sources) {
    const std::uint64_t before = num_allocations();
    for (int i = 0; i < 100; ++i) {
      ASSERT_TRUE(expand(src));
    }
    EXPECT_EQ(num_allocations() - before, 0U) << src->data_len();
  }
  EXPECT_EQ(compress->stop(), Status::success);
  Bufs::free({dst, sources[0], sources[1]});
}

}  // namespace
}  // namespace pydoca
