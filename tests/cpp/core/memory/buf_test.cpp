#include <pydoca/buf.hpp>

#include "library/operands.hpp"
#include "rig/library/memory_rig.hpp"

#include <gtest/gtest.h>

#include <array>
#include <limits>

namespace pydoca {
namespace {

class BufTest : public testing::Test {
 protected:
  fake::Backend backend_;
  std::shared_ptr<Device> device_ = backend_.open_device();
  MappedBytes memory_{device_, 4096};
  Bufs bufs_{16};
};

TEST_F(BufTest, FromByAddrIsAllTailroom) {
  Buf* const buf = bufs_.by_addr(memory_, 64, 128);
  EXPECT_EQ(buf->head(), memory_.addr(64));
  EXPECT_EQ(buf->len(), 128U);
  EXPECT_EQ(buf->data(), memory_.addr(64));
  EXPECT_EQ(buf->data_len(), 0U);
  EXPECT_EQ(buf->headroom(), 0U);
  EXPECT_EQ(buf->tailroom(), 128U);
  EXPECT_EQ(buf->refcount(), 1U);
  EXPECT_EQ(buf->mmap(), memory_.mmap.get());
  Bufs::free({buf});
}

TEST_F(BufTest, FromByDataIsAllData) {
  Buf* const buf = bufs_.by_data(memory_, 64, 128);
  EXPECT_EQ(buf->data(), memory_.addr(64));
  EXPECT_EQ(buf->data_len(), 128U);
  EXPECT_EQ(buf->tailroom(), 0U);
  Bufs::free({buf});
}

TEST_F(BufTest, SetDataStaysInTheBuf) {
  Buf* const buf = bufs_.by_addr(memory_, 100, 50);
  EXPECT_EQ(buf->set_data(memory_.addr(110), 20), Status::success);
  EXPECT_EQ(buf->headroom(), 10U);
  EXPECT_EQ(buf->tailroom(), 20U);
  EXPECT_EQ(buf->set_data(memory_.addr(150), 0), Status::success);
  EXPECT_EQ(buf->set_data(memory_.addr(100), 50), Status::success);

  EXPECT_EQ(buf->set_data(memory_.addr(99), 1), Status::invalid_value);
  EXPECT_EQ(buf->set_data(memory_.addr(100), 51), Status::invalid_value);
  EXPECT_EQ(buf->set_data(memory_.addr(149), 2), Status::invalid_value);
  EXPECT_EQ(buf->set_data(memory_.addr(151), 0), Status::invalid_value);
  EXPECT_EQ(buf->set_data(memory_.addr(110), std::numeric_limits<std::uint64_t>::max()), Status::invalid_value);
  EXPECT_EQ(buf->set_data(std::numeric_limits<std::uint64_t>::max(), 2), Status::invalid_value);
  EXPECT_EQ(buf->data(), memory_.addr(100));
  EXPECT_EQ(buf->data_len(), 50U);
  Bufs::free({buf});
}

TEST_F(BufTest, ResetDataLenKeepsTheDataPointer) {
  Buf* const buf = bufs_.by_addr(memory_, 0, 100);
  ASSERT_EQ(buf->set_data(memory_.addr(10), 30), Status::success);
  EXPECT_EQ(buf->set_data_len(90), Status::success);
  EXPECT_EQ(buf->set_data_len(91), Status::invalid_value);
  EXPECT_EQ(buf->reset_data_len(), Status::success);
  EXPECT_EQ(buf->data(), memory_.addr(10));
  EXPECT_EQ(buf->data_len(), 0U);
  EXPECT_EQ(buf->tailroom(), 90U);
  Bufs::free({buf});
}

TEST_F(BufTest, CountsReferencesAndTellsTheCountBefore) {
  Buf* const buf = bufs_.by_addr(memory_, 0, 8);
  std::uint16_t before = 99;
  EXPECT_EQ(buf->inc_refcount(&before), Status::success);
  EXPECT_EQ(before, 1U);
  EXPECT_EQ(buf->refcount(), 2U);
  EXPECT_EQ(buf->dec_refcount(&before), Status::success);
  EXPECT_EQ(before, 2U);
  EXPECT_EQ(bufs_.inventory->num_free_elements(), 15U);
  EXPECT_EQ(buf->dec_refcount(&before), Status::success);
  EXPECT_EQ(before, 1U);
  EXPECT_EQ(bufs_.inventory->num_free_elements(), 16U);
  EXPECT_EQ(memory_.mmap->num_bufs(), 0U);
}

TEST_F(BufTest, RefusesMoreThan65535References) {
  Buf* const buf = bufs_.by_addr(memory_, 0, 8);
  while (buf->refcount() < 65535) {
    ASSERT_EQ(buf->inc_refcount(), Status::success);
  }
  EXPECT_EQ(buf->inc_refcount(), Status::too_big);
  EXPECT_EQ(buf->refcount(), 65535U);
  while (buf->refcount() > 1) {
    ASSERT_EQ(buf->dec_refcount(), Status::success);
  }
  Bufs::free({buf});
}

TEST_F(BufTest, RefusesAReferenceBelowZero) {
  Buf* const buf = bufs_.by_addr(memory_, 0, 8);
  Bufs::free({buf});
  // The descriptor lives on in its inventory, so reading a freed buf is wrong but harmless.
  EXPECT_EQ(buf->dec_refcount(), Status::bad_state);
  EXPECT_EQ(bufs_.inventory->num_free_elements(), 16U);
}

TEST_F(BufTest, LeadsNoListOnceItIsBack) {
  Buf* const buf = bufs_.by_addr(memory_, 0, 8);
  Buf* const other = bufs_.by_addr(memory_, 8, 8);
  Bufs::free({buf});
  EXPECT_EQ(buf->inc_refcount(), Status::not_permitted);
  EXPECT_EQ(buf->chain(*other), Status::not_permitted);
  EXPECT_EQ(buf->chain_tail(*buf, *other), Status::not_permitted);
  EXPECT_EQ(buf->unchain(*other), Status::not_permitted);
  EXPECT_EQ(other->chain(*buf), Status::not_permitted);
  Buf* copy = nullptr;
  EXPECT_EQ(bufs_.inventory->dup(*buf, copy), Status::not_permitted);
  EXPECT_FALSE(buf->leads_list());
  EXPECT_EQ(bufs_.inventory->num_free_elements(), 15U);
  Bufs::free({other});
}

TEST_F(BufTest, AloneIsAListOfOne) {
  Buf* const buf = bufs_.by_addr(memory_, 0, 8);
  std::uint32_t count = 0;
  EXPECT_EQ(buf->list_len(count), Status::success);
  EXPECT_EQ(count, 1U);
  EXPECT_TRUE(buf->is_first());
  EXPECT_TRUE(buf->is_last());
  EXPECT_FALSE(buf->is_in_list());
  EXPECT_EQ(buf->next(), nullptr);
  EXPECT_EQ(&buf->last(), buf);
  Bufs::free({buf});
}

class BufListTest : public BufTest {
 protected:
  BufListTest() {
    for (std::size_t i = 0; i < element_.size(); ++i) {
      element_[i] = bufs_.by_addr(memory_, i * 16, 16);
    }
  }

  /// element_[0] - element_[1] - element_[2] - element_[3]
  void chain_all() {
    ASSERT_EQ(element_[0]->chain(*element_[1]), Status::success);
    ASSERT_EQ(element_[2]->chain(*element_[3]), Status::success);
    ASSERT_EQ(element_[0]->chain(*element_[2]), Status::success);
  }

  static std::uint32_t list_len(const Buf& head) {
    std::uint32_t count = 0;
    EXPECT_EQ(head.list_len(count), Status::success);
    return count;
  }

  std::array<Buf*, 4> element_{};
};

TEST_F(BufListTest, ChainMakesTheSecondListInner) {
  chain_all();
  EXPECT_EQ(list_len(*element_[0]), 4U);
  EXPECT_EQ(&element_[0]->last(), element_[3]);
  EXPECT_EQ(&element_[1]->last(), element_[3]);
  for (std::size_t i = 0; i < element_.size(); ++i) {
    EXPECT_EQ(element_[i]->is_first(), i == 0);
    EXPECT_EQ(element_[i]->is_last(), i == 3);
    EXPECT_TRUE(element_[i]->is_in_list());
    EXPECT_EQ(element_[i]->next(), i < 3 ? element_[i + 1] : nullptr);
    EXPECT_EQ(element_[i]->refcount(), 1U);
  }
  Bufs::free({element_[0]});
  EXPECT_EQ(bufs_.inventory->num_free_elements(), 16U);
  EXPECT_EQ(memory_.mmap->num_bufs(), 0U);
}

TEST_F(BufListTest, ChainsBehindATailThatIsKnown) {
  ASSERT_EQ(element_[0]->chain_tail(*element_[0], *element_[1]), Status::success);
  EXPECT_EQ(element_[0]->chain_tail(*element_[0], *element_[2]), Status::not_permitted);
  EXPECT_EQ(element_[1]->chain_tail(*element_[1], *element_[2]), Status::not_permitted);
  EXPECT_EQ(element_[0]->chain_tail(*element_[3], *element_[2]), Status::not_permitted);
  ASSERT_EQ(element_[0]->chain_tail(*element_[1], *element_[2]), Status::success);
  EXPECT_EQ(list_len(*element_[0]), 3U);
  EXPECT_EQ(&element_[0]->last(), element_[2]);
  Bufs::free({element_[0], element_[3]});
}

TEST_F(BufListTest, InnerElementsRefuseListCalls) {
  chain_all();
  std::uint32_t count = 0;
  EXPECT_EQ(element_[1]->inc_refcount(), Status::not_permitted);
  EXPECT_EQ(element_[1]->dec_refcount(), Status::not_permitted);
  EXPECT_EQ(element_[1]->list_len(count), Status::not_permitted);
  EXPECT_EQ(element_[1]->unchain(*element_[2]), Status::not_permitted);
  Buf* const other = bufs_.by_addr(memory_, 0, 8);
  EXPECT_EQ(element_[1]->chain(*other), Status::not_permitted);
  EXPECT_EQ(other->chain(*element_[1]), Status::not_permitted);
  Bufs::free({element_[0], other});
}

TEST_F(BufListTest, ChainRefusesASharedOrTheSameList) {
  ASSERT_EQ(element_[1]->inc_refcount(), Status::success);
  EXPECT_EQ(element_[0]->chain(*element_[1]), Status::not_permitted);
  EXPECT_EQ(element_[0]->chain(*element_[0]), Status::not_permitted);
  EXPECT_EQ(list_len(*element_[0]), 1U);
  // The first list may be shared.
  EXPECT_EQ(element_[1]->chain(*element_[0]), Status::success);
  ASSERT_EQ(element_[1]->dec_refcount(), Status::success);
  Bufs::free({element_[1], element_[2], element_[3]});
  EXPECT_EQ(bufs_.inventory->num_free_elements(), 16U);
}

TEST_F(BufListTest, UnchainCutsBeforeTheElement) {
  chain_all();
  ASSERT_EQ(element_[0]->inc_refcount(), Status::success);
  EXPECT_EQ(element_[0]->unchain(*element_[1]), Status::success);
  EXPECT_EQ(list_len(*element_[0]), 1U);
  EXPECT_EQ(element_[0]->refcount(), 2U);
  EXPECT_FALSE(element_[0]->is_in_list());
  EXPECT_TRUE(element_[1]->is_first());
  EXPECT_EQ(element_[1]->refcount(), 1U);
  EXPECT_EQ(list_len(*element_[1]), 3U);
  EXPECT_EQ(&element_[1]->last(), element_[3]);

  EXPECT_EQ(element_[1]->unchain(*element_[3]), Status::success);
  EXPECT_EQ(list_len(*element_[1]), 2U);
  EXPECT_EQ(&element_[1]->last(), element_[2]);
  // The rest of the list may be chained again.
  EXPECT_EQ(element_[3]->chain(*element_[1]), Status::success);
  EXPECT_EQ(list_len(*element_[3]), 3U);
  ASSERT_EQ(element_[0]->dec_refcount(), Status::success);
  Bufs::free({element_[0], element_[3]});
  EXPECT_EQ(bufs_.inventory->num_free_elements(), 16U);
}

TEST_F(BufListTest, UnchainRefusesWhatIsNotALaterElement) {
  ASSERT_EQ(element_[0]->chain(*element_[1]), Status::success);
  EXPECT_EQ(element_[0]->unchain(*element_[0]), Status::invalid_value);
  EXPECT_EQ(element_[0]->unchain(*element_[2]), Status::invalid_value);
  EXPECT_EQ(list_len(*element_[0]), 2U);
  Bufs::free({element_[0], element_[2], element_[3]});
}

TEST_F(BufListTest, SumsAndAppendsInListOrder) {
  chain_all();
  ASSERT_EQ(element_[1]->set_data(memory_.addr(20), 4), Status::success);
  EXPECT_EQ(element_[0]->list_data_len(), 4U);
  // 16 + 8 behind the data of element 1 + 16 + 16
  EXPECT_EQ(element_[0]->list_tailroom(), 56U);
  detail::Operands::lend_to_fill(element_[0]);
  EXPECT_TRUE(element_[3]->in_flight());
  EXPECT_TRUE(detail::Operands::is_filling(element_[0]));
  EXPECT_EQ(element_[1]->reset_data_len(), Status::in_use);
  detail::Operands::take_back_filled(element_[0], 30);
  EXPECT_FALSE(element_[3]->in_flight());
  EXPECT_FALSE(detail::Operands::is_filling(element_[0]));
  EXPECT_EQ(element_[0]->data_len(), 16U);
  EXPECT_EQ(element_[1]->data_len(), 12U);
  EXPECT_EQ(element_[1]->headroom(), 4U);
  EXPECT_EQ(element_[2]->data_len(), 6U);
  EXPECT_EQ(element_[3]->data_len(), 0U);
  Bufs::free({element_[0]});
}

TEST_F(BufListTest, AnElementGoesBackToItsOwnInventory) {
  Bufs other(2);
  Buf* const foreign = other.by_addr(memory_, 0, 8);
  ASSERT_EQ(element_[0]->chain(*foreign), Status::success);
  Bufs::free({element_[0], element_[1], element_[2], element_[3]});
  EXPECT_EQ(other.inventory->num_free_elements(), 2U);
  EXPECT_EQ(bufs_.inventory->num_free_elements(), 16U);
}

TEST(Buf, TakesAtMost128Bytes) { EXPECT_LE(sizeof(Buf), 128U); }

}  // namespace
}  // namespace pydoca
