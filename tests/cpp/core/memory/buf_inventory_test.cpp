#include <pydoca/buf_inventory.hpp>

#include "rig/expect_error.hpp"
#include "rig/library/memory_rig.hpp"

#include <gtest/gtest.h>

#include <array>
#include <limits>

namespace pydoca {
namespace {

__extension__ typedef unsigned __int128 Wide;  // __extension__ takes no alias

class BufInventoryTest : public testing::Test {
 protected:
  fake::Backend backend_;
  std::shared_ptr<Device> device_ = backend_.open_device();
  MappedBytes memory_{device_, 4096};
};

TEST_F(BufInventoryTest, RefusesZeroElements) {
  EXPECT_EQ(thrown_by([] { BufInventory::create(0); }), Status::invalid_value);
  EXPECT_EQ(thrown_by([] { BufInventory::create(std::numeric_limits<std::size_t>::max()); }), Status::invalid_value);
}

TEST_F(BufInventoryTest, HandsOutNothingUnlessStarted) {
  const auto inventory = BufInventory::create(2);
  Buf* buf = nullptr;
  EXPECT_FALSE(inventory->is_started());
  EXPECT_EQ(inventory->get_by_addr(memory_.mmap, memory_.addr(), 8, buf), Status::bad_state);
  inventory->start();
  ASSERT_EQ(inventory->get_by_addr(memory_.mmap, memory_.addr(), 8, buf), Status::success);
  inventory->stop();
  Buf* copy = nullptr;
  EXPECT_EQ(inventory->dup(*buf, copy), Status::bad_state);
  EXPECT_EQ(inventory->get_by_addr(memory_.mmap, memory_.addr(), 8, copy), Status::bad_state);
  // A buf that was handed out stays valid.
  EXPECT_EQ(buf->set_data_len(8), Status::success);
  Bufs::free({buf});
  inventory->start();
  ASSERT_EQ(inventory->get_by_addr(memory_.mmap, memory_.addr(), 8, buf), Status::success);
  Bufs::free({buf});
}

TEST_F(BufInventoryTest, RefusesAMapThatIsNotStarted) {
  Bufs bufs(1);
  const auto mmap = Mmap::create();
  mmap->add_device(device_);
  mmap->set_memrange(memory_.bytes.data(), 64);
  Buf* buf = nullptr;
  EXPECT_EQ(bufs.inventory->get_by_addr(mmap, memory_.addr(), 8, buf), Status::bad_state);
  EXPECT_EQ(bufs.inventory->get_by_addr(nullptr, memory_.addr(), 8, buf), Status::invalid_value);
  EXPECT_EQ(bufs.inventory->num_free_elements(), 1U);
}

TEST_F(BufInventoryTest, AnswersNoMemoryWhenAllAreOut) {
  Bufs bufs(2);
  Buf* const first = bufs.by_addr(memory_, 0, 8);
  Buf* const second = bufs.by_addr(memory_, 0, 8);
  Buf* third = nullptr;
  EXPECT_EQ(bufs.inventory->get_by_addr(memory_.mmap, memory_.addr(), 8, third), Status::no_memory);
  EXPECT_EQ(bufs.inventory->dup(*first, third), Status::no_memory);
  EXPECT_EQ(third, nullptr);
  EXPECT_EQ(bufs.inventory->num_free_elements(), 0U);
  Bufs::free({second});
  third = bufs.by_addr(memory_, 0, 8);
  Bufs::free({first, third});
}

TEST_F(BufInventoryTest, ExpandsWhileBufsAreOut) {
  Bufs bufs(1);
  Buf* const first = bufs.by_addr(memory_, 0, 8);
  bufs.inventory->expand(3);
  EXPECT_EQ(bufs.inventory->num_elements(), 4U);
  EXPECT_EQ(bufs.inventory->num_free_elements(), 3U);
  Buf* const second = bufs.by_addr(memory_, 0, 8);
  Bufs::free({first, second});
  EXPECT_EQ(bufs.inventory->num_free_elements(), 4U);
}

TEST_F(BufInventoryTest, ExpandsOnlyWhenStarted) {
  const auto inventory = BufInventory::create(1);
  EXPECT_EQ(thrown_by([&] { inventory->expand(1); }), Status::bad_state);
  inventory->start();
  EXPECT_EQ(thrown_by([&] { inventory->expand(0); }), Status::invalid_value);
  EXPECT_EQ(inventory->num_elements(), 1U);
}

TEST_F(BufInventoryTest, RefusesToCloseWhileABufIsOut) {
  Bufs bufs(4);
  Buf* const buf = bufs.by_addr(memory_, 0, 8);
  EXPECT_EQ(thrown_by([&] { bufs.inventory->close(); }), Status::in_use);
  Bufs::free({buf});
  bufs.inventory->close();
  bufs.inventory->close();
  EXPECT_EQ(thrown_by([&] { bufs.inventory->start(); }), Status::bad_state);
  Buf* none = nullptr;
  EXPECT_EQ(bufs.inventory->get_by_addr(memory_.mmap, memory_.addr(), 8, none), Status::bad_state);
}

TEST_F(BufInventoryTest, KeepsUserData) {
  const auto inventory = BufInventory::create(1);
  EXPECT_EQ(inventory->user_data(), 0U);
  inventory->set_user_data(77);
  inventory->start();
  EXPECT_EQ(inventory->user_data(), 77U);
}

TEST_F(BufInventoryTest, ABufKeepsItsInventoryAlive) {
  Buf* first = nullptr;
  Buf* second = nullptr;
  {
    Bufs bufs(2);
    first = bufs.by_addr(memory_, 0, 8);
    second = bufs.by_addr(memory_, 8, 8);
  }
  Bufs::free({first});
  EXPECT_EQ(second->source().num_free_elements(), 1U);
  EXPECT_EQ(second->set_data_len(8), Status::success);
  Bufs::free({second});  // ends the inventory: the address sanitizer sees a leak otherwise
  EXPECT_EQ(memory_.mmap->num_bufs(), 0U);
}

TEST_F(BufInventoryTest, ABufKeepsItsMapAlive) {
  Bufs bufs(2);
  Buf* buf = nullptr;
  Buf* copy = nullptr;
  int ended = 0;
  std::vector<std::byte> bytes(64);
  {
    auto own = Mmap::create();
    own->add_device(device_);
    own->set_memrange(bytes.data(), bytes.size());
    own->set_free_callback([](std::span<std::byte>, int* count) noexcept { ++*count; }, as_user_data(&ended));
    own->start();
    ASSERT_EQ(bufs.inventory->get_by_addr(own, address_of(bytes.data()), 64, buf), Status::success);
    EXPECT_EQ(own->num_bufs(), 1U);
  }
  ASSERT_EQ(bufs.inventory->dup(*buf, copy), Status::success);
  Bufs::free({buf});
  EXPECT_EQ(ended, 0);
  EXPECT_EQ(copy->mmap()->num_bufs(), 1U);
  Bufs::free({copy});
  EXPECT_EQ(ended, 1);
}

TEST_F(BufInventoryTest, DupCopiesEveryElementAsItIs) {
  Bufs bufs(6);
  Buf* const first = bufs.by_addr(memory_, 0, 100);
  Buf* const second = bufs.by_data(memory_, 100, 50);
  ASSERT_EQ(first->set_data(memory_.addr(10), 20), Status::success);
  ASSERT_EQ(first->chain(*second), Status::success);
  ASSERT_EQ(first->inc_refcount(), Status::success);

  Buf* copy = nullptr;
  ASSERT_EQ(bufs.inventory->dup(*first, copy), Status::success);
  ASSERT_NE(copy, first);
  EXPECT_EQ(copy->refcount(), 1U);
  EXPECT_EQ(copy->num_elements(), 2U);
  EXPECT_EQ(copy->data(), memory_.addr(10));
  EXPECT_EQ(copy->data_len(), 20U);
  EXPECT_EQ(copy->len(), 100U);
  EXPECT_EQ(copy->next()->head(), memory_.addr(100));
  EXPECT_EQ(copy->next()->data_len(), 50U);
  EXPECT_EQ(memory_.mmap->num_bufs(), 4U);

  // The operands are two lists, not two names of one.
  ASSERT_EQ(copy->reset_data_len(), Status::success);
  EXPECT_EQ(first->data_len(), 20U);
  ASSERT_EQ(first->dec_refcount(), Status::success);
  Bufs::free({first, copy});
  EXPECT_EQ(bufs.inventory->num_free_elements(), 6U);
}

TEST_F(BufInventoryTest, DupRefusesAnInnerElementAndAListThatDoesNotFit) {
  Bufs bufs(3);
  Buf* const first = bufs.by_addr(memory_, 0, 8);
  Buf* const second = bufs.by_addr(memory_, 8, 8);
  ASSERT_EQ(first->chain(*second), Status::success);
  Buf* copy = nullptr;
  EXPECT_EQ(bufs.inventory->dup(*second, copy), Status::not_permitted);
  EXPECT_EQ(bufs.inventory->dup(*first, copy), Status::no_memory);
  EXPECT_EQ(bufs.inventory->num_free_elements(), 1U);
  Bufs::free({first});
}

// Every pair of an offset and a length at the limits: accepted exactly when the range lies in the map, in wide
// arithmetic.
TEST_F(BufInventoryTest, AcceptsExactlyTheRangesInsideTheMap) {
  Bufs bufs(1);
  const std::uint64_t limit = memory_.bytes.size();
  const std::uint64_t base = memory_.addr();
  const std::array<std::uint64_t, 8> values{
      0, 1, limit - 1, limit, limit + 1, std::uint64_t{1} << 63, ~std::uint64_t{0} - 1, ~std::uint64_t{0}};
  for (const std::uint64_t offset : values) {
    for (const std::uint64_t len : values) {
      const std::uint64_t addr = base + offset;  // may wrap, as a caller's sum would
      const bool inside = addr >= base && len != 0 && Wide{addr} + len <= Wide{base} + limit;
      Buf* buf = nullptr;
      const Status status = bufs.inventory->get_by_addr(memory_.mmap, addr, len, buf);
      EXPECT_EQ(status, inside ? Status::success : Status::invalid_value) << offset << " + " << len;
      EXPECT_EQ(buf != nullptr, inside);
      if (buf != nullptr) {
        Bufs::free({buf});
      }
    }
  }
}

TEST_F(BufInventoryTest, AcceptsExactlyTheDataInsideTheBuf) {
  Bufs bufs(1);
  constexpr std::uint64_t limit = 100;
  const std::uint64_t base = memory_.addr(8);
  const std::array<std::uint64_t, 8> values{
      0, 1, limit - 1, limit, limit + 1, std::uint64_t{1} << 63, ~std::uint64_t{0} - 1, ~std::uint64_t{0}};
  for (const std::uint64_t offset : values) {
    for (const std::uint64_t data_len : values) {
      const std::uint64_t data = base + offset;
      const bool inside = data >= base && Wide{data} + data_len <= Wide{base} + limit;
      Buf* buf = nullptr;
      const Status status = bufs.inventory->get_by_args(memory_.mmap, base, limit, data, data_len, buf);
      EXPECT_EQ(status, inside ? Status::success : Status::invalid_value) << offset << " + " << data_len;
      if (buf != nullptr) {
        Bufs::free({buf});
      }
    }
  }
  EXPECT_EQ(bufs.inventory->num_free_elements(), 1U);
}

}  // namespace
}  // namespace pydoca
