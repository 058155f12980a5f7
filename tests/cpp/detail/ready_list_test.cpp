#include "detail/ready_list.hpp"

#include "detail/pause.hpp"
#include "rig/pinned.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <numeric>
#include <poll.h>
#include <span>
#include <sys/eventfd.h>
#include <thread>
#include <vector>

namespace pydoca::detail {
namespace {

/// Counts what it is asked to do; work is what other threads hand to it.
class Node final : public ReadyNode {
 public:
  using ReadyNode::await_others;
  using ReadyNode::begin_looking;
  using ReadyNode::join;
  using ReadyNode::keep_looking;
  using ReadyNode::leave;
  using ReadyNode::leave_others;
  using ReadyNode::stop_looking;

  std::atomic<std::uint64_t> work{0};
  std::uint64_t done = 0;
  int pieces = 0;  ///< what assist() may do
  int assisted = 0;
  int prepared = 0;
  bool gives_up = false;  ///< stops looking when it sees nothing
  Cpus others;            ///< where what it waits for comes from
  int told = 0;           ///< times that it was told where the engine's thread runs

 protected:
  bool progress_one(bool& more) noexcept override {
    const std::uint64_t given = work.load(std::memory_order_acquire);
    if (done == given) {
      return false;
    }
    ++done;
    more = done != given;
    return true;
  }
  bool look() noexcept override {
    const bool sees = done != work.load(std::memory_order_acquire);
    if (!sees && gives_up) {
      stop_looking();
    }
    return sees;
  }
  void prepare_sleep() noexcept override { ++prepared; }
  bool may_advance_elsewhere(Cpus here) noexcept override {
    ++told;
    return others.may_run_beside(here);
  }
  bool assist() noexcept override {
    if (pieces == 0) {
      return false;
    }
    --pieces;
    ++assisted;
    return true;
  }
};

/// Whether fd is readable now.
bool readable(int fd) {
  pollfd event{.fd = fd, .events = POLLIN, .revents = 0};
  return ::poll(&event, 1, 0) == 1;
}

/// Sleeps without time-out until fd is readable, and empties it.
eventfd_t sleep_on(int fd) {
  pollfd event{.fd = fd, .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&event, 1, -1), 1);
  eventfd_t count = 0;
  EXPECT_EQ(::eventfd_read(fd, &count), 0);
  return count;
}

class ReadyListTest : public testing::Test {
 protected:
  ReadyListTest() {
    for (Node& node : nodes) {
      node.join(list);
    }
  }

  ReadyList list;
  std::array<Node, 3> nodes;
};

TEST_F(ReadyListTest, DisarmingTakesEveryWakeUp) {
  for (const bool arm_again : {false, true}) {
    list.arm();
    nodes[0].notify_from_any_thread();
    EXPECT_TRUE(readable(list.event_fd()));
    EXPECT_NE(list.pop(), nullptr);
    if (arm_again) {
      list.arm();
    }
    list.disarm();
    EXPECT_FALSE(readable(list.event_fd()));
  }
}

TEST_F(ReadyListTest, PopsInOrderOfRinging) {
  for (const int index : {2, 0, 1}) {
    nodes[static_cast<std::size_t>(index)].notify();
  }
  EXPECT_EQ(list.pop(), &nodes[2]);
  EXPECT_EQ(list.pop(), &nodes[0]);
  EXPECT_EQ(list.pop(), &nodes[1]);
  EXPECT_EQ(list.pop(), nullptr);
}

TEST_F(ReadyListTest, ListsANodeOnceHoweverOftenItRings) {
  for (int i = 0; i < 3; ++i) {
    nodes[0].notify();
    nodes[0].notify_from_any_thread();
  }
  EXPECT_EQ(list.pop(), &nodes[0]);
  // The ring from another thread was collected while the node was listed, or lists it once more; never more often.
  list.pop();
  EXPECT_EQ(list.pop(), nullptr);
  EXPECT_TRUE(list.empty());
}

TEST_F(ReadyListTest, GoesRoundAmongNodesWithMore) {
  for (Node& node : nodes) {
    node.work = 4;
    node.notify();
  }
  for (std::uint64_t turn = 1; turn <= 4; ++turn) {
    for (Node& node : nodes) {
      ASSERT_TRUE(list.progress(*list.pop()));
      EXPECT_EQ(node.done, turn);
    }
  }
  EXPECT_TRUE(list.empty());
}

TEST_F(ReadyListTest, DropsANodeThatHasNothing) {
  nodes[0].notify();
  EXPECT_FALSE(list.progress(*list.pop()));
  EXPECT_TRUE(list.empty());
}

TEST_F(ReadyListTest, BusyNodesDoNotStarveAPostedOne) {
  nodes[0].work = 1000;
  nodes[0].notify();
  nodes[1].work = 1;
  nodes[1].notify_from_any_thread();
  for (int i = 0; i < 4; ++i) {
    list.progress(*list.pop());
  }
  EXPECT_EQ(nodes[1].done, 1U);
}

TEST_F(ReadyListTest, RemovesAListedNode) {
  nodes[0].notify();
  nodes[1].notify();
  nodes[2].notify();
  nodes[1].leave();
  EXPECT_EQ(list.pop(), &nodes[0]);
  EXPECT_EQ(list.pop(), &nodes[2]);
  EXPECT_EQ(list.pop(), nullptr);
}

TEST_F(ReadyListTest, RemovesAPostedNode) {
  nodes[0].notify_from_any_thread();
  nodes[1].notify_from_any_thread();
  nodes[1].leave();
  EXPECT_EQ(list.pop(), &nodes[0]);
  EXPECT_EQ(list.pop(), nullptr);
}

TEST_F(ReadyListTest, ForgetsANodeThatDies) {
  {
    Node node;
    node.join(list);
    node.notify();
    node.offer_assist();
  }
  EXPECT_EQ(list.pop(), nullptr);
  EXPECT_FALSE(list.assist());
}

TEST_F(ReadyListTest, IgnoresRingsOfANodeThatNeverJoined) {
  Node node;
  node.notify();
  node.notify_from_any_thread();
  node.offer_assist();
  EXPECT_TRUE(list.empty());
}

TEST_F(ReadyListTest, ThoseThatLookDeliverInTurns) {
  for (Node& node : nodes) {
    node.keep_looking();
    node.work = 2;
  }
  for (std::uint64_t turn = 0; turn < 6; ++turn) {
    EXPECT_TRUE(list.look());
    EXPECT_EQ(nodes[0].done + nodes[1].done + nodes[2].done, turn + 1);
    while (list.pop() != nullptr) {  // what has more is listed
    }
    if (turn % 3 == 2) {
      EXPECT_EQ(nodes[0].done, nodes[1].done);
      EXPECT_EQ(nodes[1].done, nodes[2].done);
    }
  }
  EXPECT_FALSE(list.look());
}

TEST_F(ReadyListTest, ALookThatDeliversListsWhatHasMore) {
  nodes[0].keep_looking();
  nodes[0].work = 2;
  EXPECT_TRUE(list.look());
  EXPECT_EQ(list.pop(), &nodes[0]);
}

TEST_F(ReadyListTest, WhoStopsLookingIsLeftOut) {
  for (Node& node : nodes) {
    node.keep_looking();
    node.work = 1;
  }
  nodes[1].stop_looking();
  EXPECT_TRUE(list.look());
  EXPECT_TRUE(list.look());
  EXPECT_FALSE(list.look());
  EXPECT_EQ(nodes[1].done, 0U);
  nodes[0].stop_looking();
  nodes[2].stop_looking();
  EXPECT_FALSE(list.is_looking());
}

TEST_F(ReadyListTest, ANodeMayStopWhileItLooks) {
  for (const bool last_too : {false, true}) {
    for (Node& node : nodes) {
      node.keep_looking();
      node.gives_up = last_too || &node != &nodes[2];
    }
    EXPECT_FALSE(list.look());
    EXPECT_EQ(list.is_looking(), !last_too);
  }
}

TEST_F(ReadyListTest, AssistsUntilNobodyHasAPiece) {
  for (Node& node : nodes) {
    node.pieces = 2;
    node.offer_assist();
    node.offer_assist();
  }
  for (int i = 0; i < 6; ++i) {
    EXPECT_TRUE(list.assist());
  }
  EXPECT_FALSE(list.assist());
  for (const Node& node : nodes) {
    EXPECT_EQ(node.assisted, 2);
  }
}

TEST_F(ReadyListTest, AnOfferOfAssistanceKeepsNobodyAwake) {
  nodes[0].pieces = 1;
  nodes[0].offer_assist();
  list.arm();
  EXPECT_TRUE(list.empty());
  EXPECT_FALSE(readable(list.event_fd()));
}

TEST_F(ReadyListTest, ArmedAndRungIsReadableWhicheverCameFirst) {
  nodes[0].notify();
  list.arm();
  EXPECT_TRUE(readable(list.event_fd()));
  list.disarm();
  EXPECT_FALSE(readable(list.event_fd()));
  list.pop();

  list.arm();
  EXPECT_FALSE(readable(list.event_fd()));
  nodes[0].notify();
  EXPECT_TRUE(readable(list.event_fd()));
  list.disarm();
  list.pop();

  nodes[0].notify_from_any_thread();
  EXPECT_FALSE(readable(list.event_fd()));
  list.arm();
  EXPECT_TRUE(readable(list.event_fd()));
}

TEST_F(ReadyListTest, WritesTheEventOnceAnArm) {
  list.arm();
  nodes[0].notify_from_any_thread();
  nodes[1].notify_from_any_thread();
  nodes[2].notify();
  EXPECT_EQ(sleep_on(list.event_fd()), 1U);
  EXPECT_FALSE(readable(list.event_fd()));
}

TEST_F(ReadyListTest, ANodeThatBeginsToLookWakesAnArmedEngineWhichThenPreparesIt) {
  nodes[0].begin_looking();
  list.arm();
  EXPECT_EQ(nodes[0].prepared, 1);
  EXPECT_FALSE(readable(list.event_fd()));
  nodes[1].begin_looking();
  nodes[2].begin_looking();
  ASSERT_TRUE(readable(list.event_fd()));
  EXPECT_EQ(sleep_on(list.event_fd()), 1U);
  list.disarm();
  EXPECT_TRUE(list.is_looking());
  list.arm();
  EXPECT_EQ(nodes[1].prepared, 1);
  EXPECT_EQ(nodes[2].prepared, 1);
  EXPECT_FALSE(readable(list.event_fd()));
}

TEST_F(ReadyListTest, WritesNoEventUnlessArmed) {
  nodes[0].notify();
  nodes[1].notify_from_any_thread();
  EXPECT_FALSE(readable(list.event_fd()));
}

/// The owner's loop under test: progress until nothing is left, arm, sleep without time-out.
/// A lost wake-up leaves it asleep for ever, and ctest's time limit ends the test.
void progress_until(ReadyList& list, std::span<Node> nodes, std::uint64_t total) {
  std::uint64_t seen = 0;
  while (seen < total) {
    while (ReadyNode* node = list.pop()) {
      seen += list.progress(*node) ? 1U : 0U;
    }
    if (seen < total) {
      list.arm();
      EXPECT_EQ(sleep_on(list.event_fd()), 1U) << "one write an arm";
    }
  }
  std::uint64_t done = 0;
  for (const Node& node : nodes) {
    done += node.done;
  }
  EXPECT_EQ(done, total);
}

TEST_F(ReadyListTest, NoWakeUpIsLostInPingPong) {
  constexpr std::uint64_t rounds = 20'000;
  Node& node = nodes[0];
  std::atomic<std::uint64_t> answered{0};
  std::jthread poster([&] {
    for (std::uint64_t round = 1; round <= rounds; ++round) {
      node.work.store(round, std::memory_order_release);
      node.notify_from_any_thread();
      while (answered.load(std::memory_order_acquire) != round) {
        std::this_thread::yield();
      }
    }
  });
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    while (node.done < round) {
      list.arm();
      ASSERT_EQ(sleep_on(list.event_fd()), 1U);
      while (ReadyNode* rung = list.pop()) {
        list.progress(*rung);
      }
    }
    answered.store(round, std::memory_order_release);
  }
}

TEST_F(ReadyListTest, NoWakeUpIsLostAmongManyPosters) {
  constexpr std::uint64_t each = 20'000;
  std::vector<std::jthread> posters;
  for (auto& node : nodes) {
    posters.emplace_back([&node] {
      for (std::uint64_t count = 0; count < each; ++count) {
        node.work.fetch_add(1, std::memory_order_release);
        node.notify_from_any_thread();
        // Pauses of changing length let the owner fall asleep at every point of the posting.
        for (std::uint64_t spin = 0; spin < (count * 7) % 64; ++spin) {
          pause();
        }
      }
    });
  }
  progress_until(list, nodes, each * nodes.size());
}

TEST_F(ReadyListTest, NoWakeUpIsLostWhenPostersShareANode) {
  constexpr std::uint64_t each = 20'000;
  std::vector<std::jthread> posters;
  for (int i = 0; i < 2; ++i) {
    posters.emplace_back([this] {
      for (std::uint64_t count = 0; count < each; ++count) {
        nodes[0].work.fetch_add(1, std::memory_order_release);
        nodes[0].notify_from_any_thread();
      }
    });
  }
  progress_until(list, nodes, each * 2);
}

TEST_F(ReadyListTest, AdvancesElsewhereIfANodeDoes) {
  const Cpus here = Cpus::only(0);
  EXPECT_FALSE(list.may_advance_elsewhere(here, true)) << "it waits for nothing";
  for (Node& node : nodes) {
    node.others = here;
    node.await_others();
  }
  EXPECT_FALSE(list.may_advance_elsewhere(here, true));
  nodes[1].others = Cpus::only(1);
  EXPECT_TRUE(list.may_advance_elsewhere(here, false));
  nodes[1].leave_others();
  EXPECT_FALSE(list.may_advance_elsewhere(here, false));
  nodes[1].await_others();
  EXPECT_TRUE(list.may_advance_elsewhere(here, false));
  nodes[1].leave();
  EXPECT_FALSE(list.may_advance_elsewhere(here, false));
}

TEST_F(ReadyListTest, AsksAFewNodesAtATimeAndTellsAllOfANewPlace) {
  constexpr int count = 100;
  constexpr int at_a_time = 32;
  const Cpus here = Cpus::only(0);
  std::array<Node, count> many;
  for (Node& node : many) {
    node.join(list);
    node.others = here;
    node.await_others();
  }
  const auto told = [&] {
    return std::accumulate(many.begin(), many.end(), 0, [](int sum, const Node& node) { return sum + node.told; });
  };
  EXPECT_FALSE(list.may_advance_elsewhere(here, true));
  EXPECT_EQ(told(), count);
  EXPECT_FALSE(list.may_advance_elsewhere(here, false));
  EXPECT_EQ(told(), count + at_a_time);
  many[50].others = Cpus::several();
  const auto calls_until = [&](bool elsewhere) {
    int calls = 1;
    while (list.may_advance_elsewhere(here, false) != elsewhere && calls < 10) {
      ++calls;
    }
    return calls;
  };
  EXPECT_LE(calls_until(true), 4);
  EXPECT_TRUE(list.may_advance_elsewhere(here, false)) << "those that were asked now are not all";
  many[50].others = here;
  EXPECT_LE(calls_until(false), 8);
}

TEST_F(ReadyListTest, AThreadThatEndsASleepSaysWhereItRuns) {
  const unsigned cpu = usable_cpus().front();
  const auto wake = [&] {
    list.arm();
    run_pinned(cpu, [&] { nodes[0].notify_from_any_thread(); });
    EXPECT_NE(list.pop(), nullptr);
    list.disarm();
  };
  wake();
  EXPECT_FALSE(list.may_advance_elsewhere(Cpus::only(cpu), false));
  wake();
  EXPECT_TRUE(list.may_advance_elsewhere(Cpus::only(cpu + 1), false));
  EXPECT_FALSE(list.may_advance_elsewhere(Cpus::only(cpu + 1), false)) << "nothing has come from there since";
  run_pinned(cpu, [&] { nodes[0].notify_from_any_thread(); });
  EXPECT_FALSE(list.may_advance_elsewhere(Cpus::only(cpu + 1), false)) << "the list did not sleep";
}

}  // namespace
}  // namespace pydoca::detail
