#include "detail/time/virtual_clock.hpp"

#include "detail/time/timer.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <poll.h>
#include <string>
#include <sys/eventfd.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace pydoca::detail {
namespace {

using Wake = VirtualClock::Wake;

constexpr std::uint64_t hour = 3'600'000'000'000;

class Flag final : public VirtualClock::Condition {
 public:
  void set() noexcept { value_ = true; }
  bool holds() noexcept override { return value_; }

 private:
  std::atomic<bool> value_{false};
};

class VirtualClockTest : public testing::Test {
 protected:
  static VirtualClock& clock() { return VirtualClock::instance(); }
  ~VirtualClockTest() override {
    clock().end();
    clock().leave();
  }

  static void begin(std::uint64_t seed = 0) { ASSERT_TRUE(clock().begin({.seed = seed})); }

  /// Threads that take part, numbered in this order, and begin to run together.
  template <class... Bodies>
  static void run(Bodies... bodies) {
    clock().join();
    std::vector<std::thread> threads;
    const auto start = [&](auto body) {
      const std::uint64_t before = clock().num_participants();
      threads.emplace_back([body] {
        clock().join();
        body();
        clock().leave();
      });
      while (clock().num_participants() == before) {
        std::this_thread::yield();
      }
    };
    (start(bodies), ...);
    clock().leave();
    for (std::thread& thread : threads) {
      thread.join();
    }
  }
};

TEST_F(VirtualClockTest, TimeStandsStillWhileAThreadRuns) {
  begin();
  const std::uint64_t moment = now();
  EXPECT_EQ(moment, VirtualClock::first_moment);
  ::usleep(2000);
  EXPECT_EQ(now(), moment);
}

TEST_F(VirtualClockTest, AWaitTakesTheTimeToItsMomentAtOnce) {
  begin();
  EXPECT_EQ(clock().wait(nullptr, now() + hour), Wake::due);
  EXPECT_EQ(now(), VirtualClock::first_moment + hour);
}

TEST_F(VirtualClockTest, OneOfAProcess) {
  begin();
  EXPECT_FALSE(clock().begin({}));
  clock().end();
  EXPECT_TRUE(clock().begin({}));
}

TEST_F(VirtualClockTest, AfterItsEndTimeIsReal) {
  begin();
  clock().end();
  EXPECT_EQ(clock().wait(nullptr, never), Wake::ended);
  EXPECT_GT(now(), VirtualClock::first_moment);
}

TEST_F(VirtualClockTest, AConditionThatHoldsNeedsNoTime) {
  begin();
  Flag flag;
  flag.set();
  EXPECT_EQ(clock().wait(&flag, now() + hour), Wake::ready);
  EXPECT_EQ(now(), VirtualClock::first_moment);
}

TEST_F(VirtualClockTest, AThreadThatWaitsForEverIsToldThatItIsStuck) {
  begin();
  Flag flag;
  EXPECT_EQ(clock().wait(&flag, never), Wake::stuck);
}

TEST_F(VirtualClockTest, WhatComesFromOutsideInTimeIsWaitedFor) {
  ASSERT_TRUE(clock().begin({.seed = 0, .outside = std::chrono::seconds(60)}));
  Flag flag;
  std::thread outside([&] {
    ::usleep(5000);
    flag.set();
  });
  EXPECT_EQ(clock().wait(&flag, never), Wake::ready);
  outside.join();
}

TEST_F(VirtualClockTest, TimersAreReadableFromTheirMomentOn) {
  begin();
  Timer timer;
  Timer later;
  const auto is_readable = [](const Timer& one) {
    pollfd event{.fd = one.fd(), .events = POLLIN, .revents = 0};
    return ::poll(&event, 1, 0) == 1;
  };
  timer.set(now() + 5);
  later.set(now() + 6);
  EXPECT_FALSE(is_readable(timer));
  EXPECT_EQ(clock().wait(nullptr, now() + 5), Wake::due);
  EXPECT_TRUE(is_readable(timer));
  EXPECT_FALSE(is_readable(later));
  timer.clear();
  EXPECT_FALSE(is_readable(timer));
  timer.set(now());
  EXPECT_TRUE(is_readable(timer));
}

TEST_F(VirtualClockTest, ATimerWakesNobodyAndMovesTime) {
  begin();
  Timer timer;
  timer.set(now() + 7);
  Flag flag;
  EXPECT_EQ(clock().wait(&flag, never), Wake::stuck);
  EXPECT_EQ(now(), VirtualClock::first_moment + 7);
}

TEST_F(VirtualClockTest, ThreadsRunOneAtATime) {
  begin();
  std::atomic<int> running{0};
  std::atomic<int> most{0};
  const auto body = [&] {
    for (int i = 0; i < 200; ++i) {
      most = std::max(most.load(), ++running);
      std::this_thread::yield();
      --running;
      clock().wait(nullptr, now() + 1);
    }
  };
  run(body, body, body);
  EXPECT_EQ(most, 1);
  EXPECT_EQ(now(), VirtualClock::first_moment + 200);
}

std::string order_of(std::uint64_t seed, const auto& run) {
  VirtualClock::instance().begin({.seed = seed});
  std::string order;
  const auto body = [&order](char name) {
    return [&order, name] {
      for (int i = 0; i < 20; ++i) {
        order += name;
        VirtualClock::instance().wait(nullptr, now() + 10);
      }
    };
  };
  run(body('a'), body('b'), body('c'));
  order += std::to_string(VirtualClock::instance().digest());
  VirtualClock::instance().end();
  return order;
}

TEST_F(VirtualClockTest, TheSeedDecidesOnTheOrder) {
  const auto runs = [](auto... bodies) { run(bodies...); };
  const std::string first = order_of(1, runs);
  EXPECT_EQ(order_of(1, runs), first);
  EXPECT_NE(order_of(2, runs), first);
}

TEST_F(VirtualClockTest, ThreadsThatLookLetEachOtherLookBeforeTimeMoves) {
  begin();
  std::atomic<int> stage{0};
  std::array<std::uint64_t, 2> seen{};
  Timer timer;  // what would be due next
  timer.set(now() + hour);
  const auto first = [&] {
    stage = 1;
    while (stage != 2) {
      clock().look_in_vain(0);
    }
    seen[0] = now();
    stage = 3;
  };
  const auto second = [&] {
    while (stage != 1) {
      clock().look_in_vain(0);
    }
    stage = 2;
    while (stage != 3) {
      clock().look_in_vain(1);
    }
    seen[1] = now();
  };
  run(first, second);
  EXPECT_LT(seen[0], VirtualClock::first_moment + hour);
  EXPECT_LT(seen[1], VirtualClock::first_moment + hour);
}

TEST_F(VirtualClockTest, LooksInVainTakeTimeAndDoNotPassATimer) {
  begin();
  Timer timer;
  timer.set(now() + hour);
  int looks = 0;
  while (now() < VirtualClock::first_moment + hour) {
    clock().look_in_vain(0);
    ++looks;
  }
  EXPECT_EQ(now(), VirtualClock::first_moment + hour);
  EXPECT_GT(looks, 20);
  EXPECT_LT(looks, 2000);
  clock().look_in_vain(1);
  EXPECT_EQ(now(), VirtualClock::first_moment + hour + VirtualClock::look_time) << "it has done something";
}

}  // namespace
}  // namespace pydoca::detail
