#include "library/sync_event/wait_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace pydoca::detail {
namespace {

using enum WaitCondition;

struct Wait {
  std::uint64_t value() const { return wanted; }
  std::uint64_t mask() const { return masks[number]; }
  WaitCondition condition() const { return kind; }
  std::uint8_t group() const { return number; }
  bool is_satisfied_by(std::uint64_t now) const {
    const std::uint64_t masked = now & mask();
    return kind == equal ? masked == wanted : kind == unequal ? masked != wanted : masked > wanted;
  }

  static constexpr std::array<std::uint64_t, 3> masks{~std::uint64_t{0}, 0xff, 0};

  std::uint64_t wanted = 0;
  std::uint8_t number = 0;
  WaitCondition kind = equal;
  // NOLINTBEGIN(readability-identifier-naming): the names that the table requires
  Wait* next_ = nullptr;
  Wait* prev_ = nullptr;
  // NOLINTEND(readability-identifier-naming)
};

TEST(WaitTable, FindsThoseThatAValueEnds) {
  WaitTable<Wait> table(4);
  Wait five{.wanted = 5};
  Wait masked{.wanted = 5, .number = 1};
  Wait not_null{.wanted = 0, .kind = unequal};
  for (Wait* const wait : {&five, &masked, &not_null}) {
    table.insert(*wait);
  }
  std::vector<Wait*> ended;
  const auto take = [&](Wait& wait) { ended.push_back(&wait); };
  table.collect(0, take);
  EXPECT_TRUE(ended.empty());
  table.collect(0x105, take);
  EXPECT_EQ(ended.size(), 2U);
  EXPECT_EQ(std::ranges::count(ended, &five), 0);
  table.collect(5, take);
  EXPECT_EQ(ended.back(), &five);
  EXPECT_TRUE(table.empty());
}

TEST(WaitTable, AValueEndsThoseThatWaitForMoreThanLess) {
  WaitTable<Wait> table(255);
  std::vector<Wait> waits(255);
  for (std::size_t i = 0; i < waits.size(); ++i) {
    waits[i] = {.wanted = i, .kind = greater};
    table.insert(waits[i]);
  }
  std::vector<std::uint64_t> ended;
  const auto take = [&](const Wait& wait) { ended.push_back(wait.wanted); };
  for (const std::uint64_t value : {0U, 1U, 64U, 65U, 129U, 254U, 255U}) {
    table.collect(value, take);
    ASSERT_EQ(ended.size(), value);
    ASSERT_TRUE(std::ranges::all_of(ended, [value](std::uint64_t wanted) { return wanted < value; }));
  }
  EXPECT_TRUE(table.empty());
}

TEST(WaitTable, GivesAllBack) {
  WaitTable<Wait> table(1);
  std::vector<Wait> waits(10);
  for (std::size_t i = 0; i < waits.size(); ++i) {
    waits[i].wanted = i < 5 ? i + 1 : 0;
    waits[i].kind = i < 5 ? equal : i < 8 ? unequal : greater;
    table.insert(waits[i]);
  }
  table.remove(waits[2]);
  table.remove(waits[7]);
  std::size_t count = 0;
  table.collect_all([&](Wait&) { ++count; });
  EXPECT_EQ(count, 8U);
  EXPECT_TRUE(table.empty());
  table.insert(waits[0]);
  table.collect(1, [&](Wait&) { ++count; });
  EXPECT_EQ(count, 9U);
}

TEST(WaitTable, AgreesWithALinearSearch) {
  std::mt19937_64 random(static_cast<std::uint64_t>(testing::UnitTest::GetInstance()->random_seed()));
  WaitTable<Wait> table(64);
  std::vector<Wait> waits(64);
  std::vector<Wait*> pending;
  std::uint64_t now = 0;
  for (int step = 0; step < 20'000; ++step) {
    Wait& wait = waits[random() % waits.size()];
    if (std::ranges::find(pending, &wait) == pending.end()) {
      wait.number = static_cast<std::uint8_t>(random() % Wait::masks.size());
      wait.kind = static_cast<WaitCondition>(random() % 3);
      wait.wanted = wait.kind == unequal ? now & wait.mask() : random() % (wait.kind == equal ? 4 : 255);
      if (!wait.is_satisfied_by(now)) {
        table.insert(wait);
        pending.push_back(&wait);
      }
    }
    if (random() % 3 == 0) {
      now = random() % (random() % 2 == 0 ? 4 : 256) + (random() % 2 << 8);
      std::vector<Wait*> ended;
      table.collect(now, [&](Wait& done) { ended.push_back(&done); });
      std::vector<Wait*> expected;
      std::ranges::copy_if(pending, std::back_inserter(expected), [&](Wait* one) { return one->is_satisfied_by(now); });
      std::ranges::sort(ended);
      std::ranges::sort(expected);
      ASSERT_EQ(ended, expected) << step;
      std::erase_if(pending, [&](Wait* one) { return one->is_satisfied_by(now); });
    }
  }
}

}  // namespace
}  // namespace pydoca::detail
