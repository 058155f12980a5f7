#include "backend/sim/memory/revocation_page.hpp"

#include "rig/stress_time.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <cstdint>
#include <thread>

namespace pydoca::sim {
namespace {

TEST(RevocationPage, LetsInUntilItCloses) {
  RevocationPage revocation_page;
  EXPECT_TRUE(revocation_page.enter());
  EXPECT_FALSE(revocation_page.is_empty());
  revocation_page.leave();
  EXPECT_TRUE(revocation_page.is_empty());
  revocation_page.close();
  EXPECT_TRUE(revocation_page.is_closed());
  EXPECT_FALSE(revocation_page.enter());
  EXPECT_TRUE(revocation_page.is_empty()) << "a refused entry must not count";
}

TEST(RevocationPage, CountsWhoIsInside) {
  RevocationPage revocation_page;
  ASSERT_TRUE(revocation_page.enter());
  ASSERT_TRUE(revocation_page.enter());
  revocation_page.close();
  revocation_page.leave();
  EXPECT_FALSE(revocation_page.is_empty());
  revocation_page.leave();
  EXPECT_TRUE(revocation_page.is_empty());
}

/// Memory that is not atomic, so that ThreadSanitizer sees an access that the revocation page failed to exclude.
struct Guarded {
  static constexpr std::uint64_t good = 0x600d;
  static constexpr std::uint64_t poison = 0xdead;

  RevocationPage revocation_page;
  std::uint64_t value = good;
  std::atomic<int> passes{0};
};

/// Enters as often as it can; returns how many accesses found poison.
std::uint64_t access_until_closed(Guarded& guarded) {
  std::uint64_t poisoned = 0;
  while (guarded.revocation_page.enter()) {
    poisoned += guarded.value == Guarded::poison ? 1 : 0;
    guarded.value = Guarded::good + 1;
    poisoned += guarded.value == Guarded::poison ? 1 : 0;
    guarded.passes.fetch_add(1, std::memory_order_relaxed);
    guarded.revocation_page.leave();
  }
  return poisoned;
}

/// Closes after the importer has passed some number of times, so that the two meet at different places.
void withdraw(Guarded& guarded, int passes) {
  while (guarded.passes.load(std::memory_order_relaxed) < passes) {
    std::this_thread::yield();
  }
  guarded.revocation_page.close();
  while (!guarded.revocation_page.is_empty()) {
    std::this_thread::yield();  // the other thread is inside, and always leaves
  }
  guarded.value = Guarded::poison;
}

TEST(RevocationPage, KeepsAccessAndReuseApart) {
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
