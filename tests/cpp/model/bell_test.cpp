#include "backend/sim/counter/bell.hpp"

#include "model/event.hpp"
#include "model/model_test.hpp"

#include <gmock/gmock.h>

#include <array>
#include <cstdint>
#include <sys/eventfd.h>

namespace pydoca::model {
namespace {

using detail::Atomic;
using sim::Bell;
using sim::CounterSide;

/// A counter with its bell and its event files, as backend/sim/counter/counter.cpp uses them.
struct Counter {
  void check() {}
  void store(std::uint64_t value) {
    word.store(value, std::memory_order_seq_cst);
    ring();
  }
  void add(std::uint64_t value) {
    word.fetch_add(value, std::memory_order_seq_cst);
    ring();
  }
  void ring() {
    for (const CounterSide side : {CounterSide::owner, CounterSide::importer}) {
      if (bell.take(side)) {
        ::eventfd_write(file(side), 1);
      }
    }
  }
  int file(CounterSide side) const { return files[static_cast<std::size_t>(side)]; }
  /// An engine whose only context waits for the counter: it arms, looks again and sleeps.
  void wait(CounterSide side, std::uint64_t value) {
    EdgeWatch watch(file(side));
    for (;;) {
      bell.arm(side);
      if (word.load(std::memory_order_seq_cst) >= value) {
        return;
      }
      watch.sleep();
    }
  }

  Bell bell;
  Atomic<std::uint64_t> word{0};
  const std::array<int, 2> files{event_files().create(0), event_files().create(0)};
};

struct TwoSleepersOfOneSide : Counter {
  void start() {
    execution().add_thread("sleeper 1", [this] { wait(CounterSide::importer, 1); });
    execution().add_thread("sleeper 2", [this] { wait(CounterSide::importer, 2); });
    execution().add_thread("publisher", [this] {
      store(1);
      store(2);
    });
  }
};

struct TwoPublishers : Counter {
  void start() {
    execution().add_thread("sleeper", [this] { wait(CounterSide::owner, 2); });
    execution().add_thread("publisher 1", [this] { add(1); });
    execution().add_thread("publisher 2", [this] { add(1); });
  }
};

struct BothSides : Counter {
  void start() {
    execution().add_thread("owner", [this] {
      store(1);
      wait(CounterSide::owner, 2);
    });
    execution().add_thread("importer", [this] {
      wait(CounterSide::importer, 1);
      store(2);
    });
    execution().add_thread("spectator", [this] { wait(CounterSide::importer, 2); });
  }
};

/// An importer is killed at any step: it may have taken a side's flag, and not have woken the side. The owner, who
/// hears of the death, wakes both sides, and changes the counter if the importer has not.
template <bool wakes_both_sides>
struct KilledPublisher : Counter {
  void start() {
    execution().add_thread("publisher", [this] { add(1); });
    execution().add_thread("sleeper", [this] { wait(CounterSide::importer, 1); });
    execution().add_thread("owner", [this] {
      execution().kill(0);
      if (wakes_both_sides) {
        ::eventfd_write(file(CounterSide::owner), 1);
        ::eventfd_write(file(CounterSide::importer), 1);
      }
      if (word.load(std::memory_order_seq_cst) == 0) {
        add(1);
      }
    });
  }
};

/// More of everything, at random.
struct Crowd : Counter {
  void start() {
    for (const std::uint64_t value : {1U, 3U, 4U}) {
      execution().add_thread("importer", [this, value] { wait(CounterSide::importer, value); });
    }
    execution().add_thread("owner", [this] {
      add(1);
      wait(CounterSide::owner, 4);
    });
    execution().add_thread("publisher", [this] {
      add(1);
      add(1);
      add(1);
    });
  }
};

TEST(BellModel, ACrowdAtRandom) { expect_holds_at_random<Crowd>(); }
TEST(BellModel, WakesTwoSleepersOfOneSide) { expect_holds<TwoSleepersOfOneSide>(); }
TEST(BellModel, TwoPublishersWakeOneSleeper) { expect_holds<TwoPublishers>(); }
TEST(BellModel, BothSidesSleepInTurn) { expect_holds<BothSides>(); }
TEST(BellModel, SurvivesAPublisherThatIsKilled) { expect_holds<KilledPublisher<true>>(); }

TEST(BellModel, FindsThatADeathMustWakeBothSides) {
  EXPECT_THAT(explore_all<KilledPublisher<false>>({}).failure, testing::HasSubstr("sleeps for ever"));
}

TEST(BellModel, FindsWhatWouldLoseAWakeUp) {
  expect_finds<TwoSleepersOfOneSide>({Fault::weaken, "Bell::arm"});
  expect_finds<TwoSleepersOfOneSide>({Fault::weaken, "Counter::store"});
  expect_finds<TwoSleepersOfOneSide>({Fault::late, "Bell::arm"});
  expect_finds<BothSides>({Fault::late, "Counter::store"});
  expect_finds<TwoSleepersOfOneSide>({Fault::blind, "Bell::take"});
  expect_finds<TwoPublishers>({Fault::split, "Counter::add"});
  expect_finds<BothSides>({Fault::weaken, "Bell::arm"});
}

}  // namespace
}  // namespace pydoca::model
