#include "backend/sim/counter/bell.hpp"

#include "rig/stress_time.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <semaphore>
#include <thread>

namespace pydoca::sim {
namespace {

TEST(Bell, WakesOnceForEachTimeThatASideWasArmed) {
  Bell bell;
  EXPECT_FALSE(bell.take(CounterSide::owner));
  bell.arm(CounterSide::owner);
  EXPECT_FALSE(bell.take(CounterSide::importer));
  EXPECT_TRUE(bell.take(CounterSide::owner));
  EXPECT_FALSE(bell.take(CounterSide::owner));
}

/// A counter and its bell between two threads that sleep whenever the protocol lets them: a lost wake-up is a time-out.
class Table {
 public:
  void change(std::uint64_t value) {
    word_.store(value, std::memory_order_seq_cst);
    for (const CounterSide side : {CounterSide::owner, CounterSide::importer}) {
      if (bell_.take(side)) {
        awake_[static_cast<std::size_t>(side)].release();
      }
    }
  }
  bool wait(CounterSide side, std::uint64_t value) {
    while (word_.load(std::memory_order_seq_cst) != value) {
      bell_.arm(side);
      if (word_.load(std::memory_order_seq_cst) == value) {
        return true;
      }
      if (!awake_[static_cast<std::size_t>(side)].try_acquire_for(std::chrono::seconds(20))) {
        return false;
      }
    }
    return true;
  }

 private:
  Bell bell_;
  std::atomic<std::uint64_t> word_{0};
  std::array<std::counting_semaphore<>, 2> awake_{std::counting_semaphore<>(0), std::counting_semaphore<>(0)};
};

TEST(Bell, LosesNoWakeUpBetweenTwoSleepers) {
  constexpr std::uint64_t rounds = 20'000;
  Table table;
  std::atomic<std::uint64_t> last{rounds - 1};
  std::thread importer([&] {
    for (std::uint64_t i = 0; i <= last.load(); ++i) {
      ASSERT_TRUE(table.wait(CounterSide::importer, 2 * i + 1)) << i;
      table.change(2 * i + 2);
    }
  });
  const StressTime time;
  for (std::uint64_t i = 0; i <= last.load(); ++i) {
    if (time.over()) {
      last.store(i);  // before the importer can see this round
    }
    table.change(2 * i + 1);
    ASSERT_TRUE(table.wait(CounterSide::owner, 2 * i + 2)) << i;
  }
  importer.join();
}

}  // namespace
}  // namespace pydoca::sim
