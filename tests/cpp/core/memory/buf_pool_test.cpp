#include <pydoca/buf_pool.hpp>

#include "rig/expect_error.hpp"
#include "rig/library/memory_rig.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <set>
#include <span>
#include <thread>
#include <utility>
#include <vector>

namespace pydoca {
namespace {

class BufPoolTest : public testing::Test {
 protected:
  std::shared_ptr<BufPool> started(std::size_t count, std::size_t size) {
    auto pool = BufPool::create(count, size, memory_.mmap);
    pool->start();
    return pool;
  }
  static Buf* taken_from(BufPool& pool) {
    Buf* buf = nullptr;
    EXPECT_EQ(pool.alloc(buf), Status::success);
    return buf;
  }

  fake::Backend backend_;
  std::shared_ptr<Device> device_ = backend_.open_device();
  MappedBytes memory_{device_, 4096};
};

TEST_F(BufPoolTest, RefusesEmptyPoolsElementsAndMaps) {
  const auto max = std::numeric_limits<std::size_t>::max();
  EXPECT_EQ(thrown_by([&] { BufPool::create(0, 8, memory_.mmap); }), Status::invalid_value);
  EXPECT_EQ(thrown_by([&] { BufPool::create(max, 8, memory_.mmap); }), Status::invalid_value);
  EXPECT_EQ(thrown_by([&] { BufPool::create(8, 0, memory_.mmap); }), Status::invalid_value);
  EXPECT_EQ(thrown_by([&] { BufPool::create(8, 8, nullptr); }), Status::invalid_value);
  EXPECT_EQ(thrown_by([&] { BufPool::create(8, 8, Mmap::create()); }), Status::invalid_value);
}

TEST_F(BufPoolTest, GivesEveryElementOnceWithoutData) {
  const auto pool = started(4, 1024);
  std::set<std::uint64_t> addresses;
  std::vector<Buf*> out;
  for (std::size_t i = 0; i < 4; ++i) {
    out.push_back(taken_from(*pool));
    addresses.insert(out.back()->head());
    EXPECT_EQ(out.back()->len(), 1024U);
    EXPECT_EQ(out.back()->data_len(), 0U);
    EXPECT_EQ(out.back()->refcount(), 1U);
    EXPECT_EQ(pool->num_free_elements(), 3 - i);
  }
  EXPECT_EQ(addresses,
            (std::set<std::uint64_t>{memory_.addr(), memory_.addr(1024), memory_.addr(2048), memory_.addr(3072)}));
  EXPECT_EQ(memory_.mmap->num_bufs(), 4U);
  Buf* none = nullptr;
  EXPECT_EQ(pool->alloc(none), Status::empty);
  EXPECT_EQ(none, nullptr);
  EXPECT_EQ(out[0]->set_data(out[0]->head() + 8, 100), Status::success);
  Bufs::free({out[0]});
  Buf* const again = taken_from(*pool);
  EXPECT_EQ(again->data(), again->head());
  EXPECT_EQ(again->data_len(), 0U);
  Bufs::free({again, out[1], out[2], out[3]});
  EXPECT_EQ(memory_.mmap->num_bufs(), 0U);
  pool->close();
}

TEST_F(BufPoolTest, GivesNothingUnlessPoolAndMapAreStarted) {
  const auto pool = BufPool::create(2, 8, memory_.mmap);
  Buf* buf = nullptr;
  EXPECT_EQ(pool->alloc(buf), Status::bad_state);
  memory_.mmap->stop();
  EXPECT_EQ(thrown_by([&] { pool->start(); }), Status::bad_state);
  EXPECT_FALSE(pool->is_started());
  memory_.mmap->start();
  pool->start();
  pool->start();
  memory_.mmap->stop();
  EXPECT_EQ(pool->alloc(buf), Status::bad_state);
  memory_.mmap->start();
  Bufs::free({taken_from(*pool)});
  pool->stop();
  pool->stop();
  EXPECT_EQ(pool->alloc(buf), Status::bad_state);
  pool->start();
  Bufs::free({taken_from(*pool)});
}

TEST_F(BufPoolTest, NeitherStopsNorClosesWhileABufIsOut) {
  const auto pool = started(2, 8);
  Buf* const buf = taken_from(*pool);
  EXPECT_EQ(thrown_by([&] { pool->stop(); }), Status::in_use);
  EXPECT_EQ(thrown_by([&] { pool->close(); }), Status::in_use);
  EXPECT_EQ(thrown_by([&] { memory_.mmap->stop(); }), Status::not_permitted);
  EXPECT_TRUE(pool->is_started());
  Bufs::free({buf});
  pool->close();
  pool->close();
  EXPECT_EQ(pool->num_elements(), 0U);
  EXPECT_EQ(pool->mmap(), nullptr);
  Buf* none = nullptr;
  EXPECT_EQ(pool->alloc(none), Status::bad_state);
  EXPECT_EQ(thrown_by([&] { pool->start(); }), Status::bad_state);
  memory_.mmap->stop();
}

TEST_F(BufPoolTest, IsConfiguredWhileStopped) {
  const auto pool = BufPool::create(3, 10, memory_.mmap);
  EXPECT_EQ(pool->element_alignment(), 1U);
  EXPECT_EQ(pool->user_data(), 0U);
  for (const std::size_t wrong : {0U, 3U, 48U}) {
    EXPECT_EQ(thrown_by([&] { pool->set_element_alignment(wrong); }), Status::invalid_value);
  }
  pool->set_element_alignment(64);
  pool->set_user_data(7);
  pool->start();
  EXPECT_EQ(thrown_by([&] { pool->set_element_alignment(8); }), Status::bad_state);
  EXPECT_EQ(thrown_by([&] { pool->set_user_data(8); }), Status::bad_state);
  EXPECT_EQ(pool->user_data(), 7U);
  for (int i = 0; i < 3; ++i) {
    Buf* const buf = taken_from(*pool);
    EXPECT_EQ(buf->head() % 64, 0U);
    EXPECT_EQ(buf->len(), 10U);
    EXPECT_TRUE(memory_.mmap->contains(buf->head(), buf->len()));
    Bufs::free({buf});
  }
}

TEST_F(BufPoolTest, StartsOnlyWhenAllElementsFit) {
  const auto max = std::numeric_limits<std::size_t>::max();
  started(4096, 1);
  started(1, 4096);
  for (const auto& [count, size] : {std::pair<std::size_t, std::size_t>{4097, 1}, {1, 4097}, {2, max}, {3, max / 2}}) {
    const auto pool = BufPool::create(count, size, memory_.mmap);
    EXPECT_EQ(thrown_by([&] { pool->start(); }), Status::initialization) << count << " x " << size;
    EXPECT_FALSE(pool->is_started());
  }
  const auto pool = BufPool::create(64, 33, memory_.mmap);
  pool->set_element_alignment(64);
  // 64 of 64 bytes fit only where the map itself begins at a multiple.
  EXPECT_EQ(thrown_by([&] { pool->start(); }), memory_.addr() % 64 == 0 ? Status::success : Status::initialization);
  const auto wide = BufPool::create(1, 1, memory_.mmap);
  wide->set_element_alignment(std::size_t{1} << 63U);
  EXPECT_EQ(thrown_by([&] { wide->start(); }), Status::initialization);
}

TEST_F(BufPoolTest, ABufKeepsItsPoolAndMapAlive) {
  int ended = 0;
  std::vector<std::byte> bytes(64);
  Buf* buf = nullptr;
  {
    auto own = Mmap::create();
    own->add_device(device_);
    own->set_memrange(bytes.data(), bytes.size());
    own->set_free_callback([](std::span<std::byte>, int* count) noexcept { ++*count; }, as_user_data(&ended));
    own->start();
    const auto pool = BufPool::create(2, 32, std::move(own));
    pool->start();
    buf = taken_from(*pool);
  }
  EXPECT_EQ(ended, 0);
  EXPECT_EQ(buf->set_data_len(32), Status::success);
  Bufs::free({buf});
  EXPECT_EQ(ended, 1);
}

TEST_F(BufPoolTest, ItsBufsChainWithThoseOfAnInventoryAndReturnHome) {
  const auto pool = started(2, 8);
  Bufs bufs(2);
  Buf* const head = taken_from(*pool);
  ASSERT_EQ(head->chain(*bufs.by_data(memory_, 64, 8)), Status::success);
  Buf* copy = nullptr;
  EXPECT_EQ(bufs.inventory->dup(*head, copy), Status::no_memory);
  EXPECT_EQ(head->num_elements(), 2U);
  Bufs::free({head});
  EXPECT_EQ(pool->num_free_elements(), 2U);
  EXPECT_EQ(bufs.inventory->num_free_elements(), 2U);
}

TEST_F(BufPoolTest, PoolsOfSeveralThreadsUseAMapWithThreadSafety) {
  std::vector<std::byte> bytes(1024);
  const auto mmap = Mmap::create();
  mmap->add_device(device_);
  mmap->set_memrange(bytes.data(), bytes.size());
  mmap->enable_thread_safety();
  mmap->start();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([pool = BufPool::create(4, 64, mmap)] {
      pool->start();
      for (int round = 0; round < 1000; ++round) {
        Bufs::free({taken_from(*pool)});
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(mmap->num_bufs(), 0U);
  mmap->stop();
}

TEST_F(BufPoolTest, TheLastOfSeveralThreadsEndsAMapThatTheProgramLetGo) {
  std::atomic<int> ended = 0;
  std::vector<std::byte> bytes(1024);
  auto mmap = Mmap::create();
  mmap->add_device(device_);
  mmap->set_memrange(bytes.data(), bytes.size());
  mmap->set_free_callback([](std::span<std::byte>, int* count) noexcept { ++*count; }, as_user_data(&ended));
  mmap->enable_thread_safety();
  mmap->start();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    auto inventory = BufInventory::create(1);
    inventory->start();
    Buf* buf = nullptr;
    ASSERT_EQ(inventory->get_by_addr(mmap, mmap->addr(), 8, buf), Status::success);
    threads.emplace_back([buf, inventory = std::move(inventory)] { Bufs::free({buf}); });
  }
  mmap.reset();
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(ended, 1);
}

}  // namespace
}  // namespace pydoca
