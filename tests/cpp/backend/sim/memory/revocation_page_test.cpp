#include "backend/sim/memory/gate.hpp"

#include "rig/stress_time.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <cstdint>
#include <thread>

namespace pydoca::sim {
namespace {

TEST(Gate, LetsInUntilItCloses) {
  Gate gate;
  EXPECT_TRUE(gate.enter());
  EXPECT_FALSE(gate.is_empty());
  gate.leave();
  EXPECT_TRUE(gate.is_empty());
  gate.close();
  EXPECT_TRUE(gate.is_closed());
  EXPECT_FALSE(gate.enter());
  EXPECT_TRUE(gate.is_empty()) << "a refused entry must not count";
}

TEST(Gate, CountsWhoIsInside) {
  Gate gate;
  ASSERT_TRUE(gate.enter());
  ASSERT_TRUE(gate.enter());
  gate.close();
  gate.leave();
  EXPECT_FALSE(gate.is_empty());
  gate.leave();
  EXPECT_TRUE(gate.is_empty());
}

/// Memory that is not atomic, so that ThreadSanitizer sees an access that the gate failed to exclude.
struct Guarded {
  static constexpr std::uint64_t good = 0x600d;
  static constexpr std::uint64_t poison = 0xdead;

  Gate gate;
  std::uint64_t value = good;
  std::atomic<int> passes{0};
};

/// Enters as often as it can; returns how many accesses found poison.
std::uint64_t access_until_closed(Guarded& guarded) {
  std::uint64_t poisoned = 0;
  while (guarded.gate.enter()) {
    poisoned += guarded.value == Guarded::poison ? 1 : 0;
    guarded.value = Guarded::good + 1;
    poisoned += guarded.value == Guarded::poison ? 1 : 0;
    guarded.passes.fetch_add(1, std::memory_order_relaxed);
    guarded.gate.leave();
  }
  return poisoned;
}

/// Closes after the importer has passed some number of times, so that the two meet at different places.
void withdraw(Guarded& guarded, int passes) {
  while (guarded.passes.load(std::memory_order_relaxed) < passes) {
    std::this_thread::yield();
  }
  guarded.gate.close();
  while (!guarded.gate.is_empty()) {
    std::this_thread::yield();  // the other thread is inside, and always leaves
  }
  guarded.value = Guarded::poison;
}

TEST(Gate, KeepsAccessAndReuseApart) {
  constexpr int rounds = 2000;
  std::uint64_t poisoned = 0;
  std::uint64_t overwritten = 0;
  Guarded* guarded = nullptr;  // null ends the test
  std::barrier meet(2);
  std::thread importer([&] {
    for (meet.arrive_and_wait(); guarded != nullptr; meet.arrive_and_wait()) {
      poisoned += access_until_closed(*guarded);
      meet.arrive_and_wait();
    }
  });
  const StressTime time;
  for (int round = 0; round < rounds && !time.over(); ++round) {
    Guarded fresh;
    guarded = &fresh;
    meet.arrive_and_wait();
    withdraw(fresh, round % 16);
    meet.arrive_and_wait();
    overwritten += fresh.value != Guarded::poison ? 1 : 0;
  }
  guarded = nullptr;
  meet.arrive_and_wait();
  importer.join();
  EXPECT_EQ(poisoned, 0U);
  EXPECT_EQ(overwritten, 0U);
}

}  // namespace
}  // namespace pydoca::sim
