#include "detail/thread/atomic.hpp"
#include "model/explorer/data.hpp"
#include "model/explorer/explore.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <set>

namespace pydoca::model {
namespace {

using detail::Atomic;
using testing::HasSubstr;
using Order = std::memory_order;

/// What the tests of the explorer itself look at: the results of all executions.
using Outcomes = std::set<std::array<int, 4>>;

struct Litmus {
  Litmus(Outcomes& all, Order store_order) : outcomes(all), order(store_order) {}
  virtual ~Litmus() = default;
  void check() { outcomes.insert(seen); }

  Outcomes& outcomes;
  Order order;
  Atomic<int> x{0};
  Atomic<int> y{0};
  std::array<int, 4> seen{};
};

struct StoreBuffering : Litmus {
  using Litmus::Litmus;
  void start() {
    execution().add_thread("left", [this] {
      x.store(1, order);
      seen[0] = y.load(Order::seq_cst);
    });
    execution().add_thread("right", [this] {
      y.store(1, order);
      seen[1] = x.load(Order::seq_cst);
    });
  }
};

struct MessagePassing : Litmus {
  using Litmus::Litmus;
  void start() {
    execution().add_thread("writer", [this] {
      x.store(1, Order::relaxed);
      y.store(1, order);
    });
    execution().add_thread("reader", [this] {
      seen[0] = y.load(Order::acquire);
      seen[1] = x.load(Order::relaxed);
    });
  }
};

/// Data that is handed over by a flag, or is not.
struct HandOver {
  explicit HandOver(Order store_order, bool writes_too_late) : order(store_order), late(writes_too_late) {}
  void start() {
    execution().add_thread("writer", [this] {
      if (!late) {
        data.write(1);
      }
      flag.store(true, order);
      if (late) {
        data.write(1);
      }
    });
    execution().add_thread("reader", [this] {
      if (flag.load(Order::acquire)) {
        require(data.read() == 1, "the data is there");
      }
    });
  }
  void check() {}

  const Order order;
  const bool late;
  Data<int> data;
  Atomic<bool> flag{false};
};

/// A thread frees memory that another one may still access.
struct Freed {
  explicit Freed(Order store_order) : order(store_order) {}
  void start() {
    execution().add_thread("user", [this] {
      x.store(1, Order::relaxed);
      has_left.store(true, order);
    });
    execution().add_thread("owner", [this] {
      if (has_left.load(Order::acquire)) {
        execution().end_life(&x, sizeof x);
      }
    });
  }
  void check() {}

  const Order order;
  Atomic<int> x{0};
  Atomic<bool> has_left{false};
};

struct Sleeper {
  void start() {
    execution().add_thread("sleeper", [this] { sleep_on(file); });
  }
  void check() {}
  int file = event_files().create(0);
};

struct Spinner {
  void start() {
    execution().add_thread("spinner", [this] {
      while (!flag.load()) {
      }
    });
  }
  void check() {}
  Atomic<bool> flag{false};
};

/// Three threads over three places, with every kind of operation: what the reduction could get wrong.
struct Mixture : Litmus {
  using Litmus::Litmus;
  void start() {
    execution().add_thread("one", [this] {
      x.store(1, order);
      seen[0] = y.fetch_add(1);
      z.store(1, Order::relaxed);
    });
    execution().add_thread("two", [this] {
      y.store(4, order);
      seen[1] = x.load() * 2 + z.load();
    });
    execution().add_thread("three", [this] {
      int none = 0;
      z.compare_exchange_strong(none, 2);
      seen[2] = none;
      x.store(3, Order::relaxed);
      seen[3] = y.load();
    });
  }
  Atomic<int> z{0};
};

/// A thread that is killed at any step.
struct Killed : Litmus {
  using Litmus::Litmus;
  void start() {
    execution().add_thread("victim", [this] {
      x.store(1, order);
      y.fetch_add(1);
      x.store(2, order);
      y.fetch_add(1);
    });
    execution().add_thread("observer", [this] {
      seen[0] = y.load();
      seen[1] = x.load();
      y.fetch_add(4);
    });
    execution().add_thread("killer", [this] {
      execution().kill(0);
      seen[2] = x.load();
      seen[3] = y.load();
    });
  }
};

template <class Model>
Outcomes outcomes_of(Order order, bool reduces = true) {
  Outcomes outcomes;
  DepthFirst search(reduces);
  const Result result = explore<Model>(search, {}, Limits{}, std::ref(outcomes), order);
  EXPECT_TRUE(result.is_complete) << result;
  std::cout << "  " << outcomes.size() << " outcomes in " << result << ", redundant " << search.redundant() << "\n";
  return outcomes;
}

TEST(Litmus, AStoreThatIsNotSequentiallyConsistentMayPassALaterLoad) {
  const std::array<int, 4> neither{0, 0};
  EXPECT_TRUE(outcomes_of<StoreBuffering>(Order::release).contains(neither));
  EXPECT_FALSE(outcomes_of<StoreBuffering>(Order::seq_cst).contains(neither));
}

TEST(Litmus, OnlyAReleaseStoreKeepsItsPlaceBehindOthers) {
  const std::array<int, 4> flag_without_data{1, 0};
  EXPECT_TRUE(outcomes_of<MessagePassing>(Order::relaxed).contains(flag_without_data));
  EXPECT_FALSE(outcomes_of<MessagePassing>(Order::release).contains(flag_without_data));
}

TEST(Litmus, TheReductionKeepsEveryOutcome) {
  for (const Order order : {Order::relaxed, Order::release, Order::seq_cst}) {
    EXPECT_EQ(outcomes_of<StoreBuffering>(order), outcomes_of<StoreBuffering>(order, false));
    EXPECT_EQ(outcomes_of<MessagePassing>(order), outcomes_of<MessagePassing>(order, false));
    EXPECT_EQ(outcomes_of<Mixture>(order), outcomes_of<Mixture>(order, false));
    EXPECT_EQ(outcomes_of<Killed>(order), outcomes_of<Killed>(order, false));
  }
}

TEST(Litmus, DataThatNoReleaseHandsOverIsARace) {
  EXPECT_TRUE((explore_all<HandOver>({}, Order::release, false).holds()));
  EXPECT_TRUE((explore_all<HandOver>({}, Order::seq_cst, false).holds()));
  EXPECT_THAT((explore_all<HandOver>({}, Order::relaxed, false).failure), HasSubstr("a race"));
  EXPECT_THAT((explore_all<HandOver>({}, Order::release, true).failure), HasSubstr("a race"));
  EXPECT_THAT((explore_all<HandOver>({}, Order::seq_cst, true).failure), HasSubstr("a race"));
}

TEST(Litmus, MemoryThatIsFreedWhileAThreadAccessesItIsFound) {
  EXPECT_TRUE(explore_all<Freed>({}, Order::release).holds());
  EXPECT_THAT(explore_all<Freed>({}, Order::relaxed).failure, HasSubstr("is gone"));
}

TEST(Litmus, ASleepWithoutAWakeUpAndALoopWithoutAnEndFail) {
  EXPECT_THAT(explore_all<Sleeper>({}).failure, HasSubstr("sleeps for ever"));
  EXPECT_THAT(explore_all<Spinner>({}).failure, HasSubstr("does not end"));
}

}  // namespace
}  // namespace pydoca::model
