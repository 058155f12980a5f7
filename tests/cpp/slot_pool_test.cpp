#include "detail/slot_pool.hpp"

#include <gtest/gtest.h>

#include <set>

namespace pydoca::detail {
namespace {

struct alignas(64) Slot {
  explicit Slot(int& alive) noexcept : alive_(&alive) { ++*alive_; }
  ~Slot() { --*alive_; }
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;

  Slot* next_free_ = nullptr;  // NOLINT(readability-identifier-naming): the pool's word for it

 private:
  int* alive_;
};

TEST(SlotPool, HandsOutEverySlotOnceAndThenNull) {
  int alive = 0;
  SlotPool<Slot> pool(5, alive);
  std::set<Slot*> taken;
  for (int i = 0; i < 5; ++i) {
    Slot* const slot = pool.take();
    ASSERT_NE(slot, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(slot) % alignof(Slot), 0U);
    taken.insert(slot);
  }
  EXPECT_EQ(taken.size(), 5U);
  EXPECT_EQ(pool.take(), nullptr);
}

TEST(SlotPool, HandsOutTheLastReturnedFirst) {
  int alive = 0;
  SlotPool<Slot> pool(2, alive);
  Slot* const first = pool.take();
  Slot* const second = pool.take();
  pool.put(*second);
  pool.put(*first);
  EXPECT_EQ(pool.take(), first);
  EXPECT_EQ(pool.take(), second);
}

TEST(SlotPool, MakesAndDestroysItsSlotsWithItself) {
  int alive = 0;
  {
    const SlotPool<Slot> pool(7, alive);
    EXPECT_EQ(alive, 7);
  }
  EXPECT_EQ(alive, 0);
}

}  // namespace
}  // namespace pydoca::detail
