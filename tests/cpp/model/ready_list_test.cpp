#include "detail/ready_list.hpp"

#include "model/explorer/data.hpp"
#include "model/model_test.hpp"

#include <array>

namespace pydoca::model {
namespace {

using detail::ReadyList;
using detail::ReadyNode;

/// A node to which another thread gives things, each in a place of its own.
class Node final : public ReadyNode {
 public:
  using ReadyNode::join;

  void give() { publish(std::memory_order_relaxed); }
  /// The next time the node may look before it is notified.
  void give_twice() {
    publish(std::memory_order_relaxed);
    publish(std::memory_order_release);
  }
  std::uint32_t taken() const noexcept { return taken_; }

 private:
  void publish(std::memory_order order) {
    const std::uint32_t number = given_.load(std::memory_order_relaxed);
    things_[number].write(1);
    given_.store(number + 1, order);
    notify_from_any_thread();
  }
  bool progress_one(bool& more) noexcept override {
    const std::uint32_t given = given_.load(std::memory_order_relaxed);
    if (taken_ == given) {
      return false;
    }
    if (taken_ != 0) {
      static_cast<void>(given_.load(std::memory_order_acquire));
    }
    require(things_[taken_++].read() == 1, "a notified thing is there");
    more = taken_ != given;
    return true;
  }

  std::array<Data<int>, 2> things_;
  detail::Atomic<std::uint32_t> given_{0};
  std::uint32_t taken_ = 0;
};

/// An engine that sleeps whenever it has nothing, and threads that notify its nodes.
struct Engine {
  Engine() {
    for (Node& node : nodes) {
      node.join(list);
    }
  }
  std::uint32_t taken() const { return nodes[0].taken() + nodes[1].taken() + nodes[2].taken(); }
  /// Does what ProgressEngine::wait() does.
  void sleep() {
    list.arm();
    sleep_on(list.event_fd());
    list.disarm();
  }
  void take(std::uint32_t count) {
    while (taken() < count) {
      if (!list.progress()) {
        sleep();
      }
    }
  }
  /// An engine with nothing to do must sleep: what woke it before is read.
  void check() {
    while (list.progress()) {
    }
    list.disarm();
    list.arm();
    require(!is_readable(list.event_fd()), "an idle engine sleeps");
    list.disarm();
  }

  ReadyList list;
  std::array<Node, 3> nodes;
};

struct TwoNotifiers : Engine {
  void start() {
    execution().add_thread("engine", [this] { take(2); });
    execution().add_thread("notifier 1", [this] { nodes[0].give(); });
    execution().add_thread("notifier 2", [this] { nodes[1].give(); });
  }
};

/// The second time may come while the node is posted still, or again.
struct TwiceTheSameNode : Engine {
  void start() {
    execution().add_thread("engine", [this] { take(2); });
    execution().add_thread("notifier", [this] { nodes[0].give_twice(); });
  }
};

/// poll() with a time-out, or a poll that another descriptor ended: the engine goes on before its notifier has written.
struct ASleepThatEndsEarly : Engine {
  void start() {
    execution().add_thread("engine", [this] {
      list.arm();
      list.disarm();
      take(2);
    });
    execution().add_thread("notifier 1", [this] { nodes[0].give(); });
    execution().add_thread("notifier 2", [this] { nodes[1].give(); });
  }
};

/// A loop that arms an engine before each of its sleeps, and disarms it only when it has something to do.
struct ArmedAgain : Engine {
  void start() {
    execution().add_thread("engine", [this] {
      list.arm();
      list.arm();
      take(1);
    });
    execution().add_thread("notifier", [this] { nodes[0].give(); });
  }
};

/// More of everything, at random: a third notifier, and each comes twice.
struct ThreeNotifiers : Engine {
  void start() {
    execution().add_thread("engine", [this] {
      for (std::uint32_t count = 1; count <= 6; ++count) {
        list.arm();
        list.disarm();
        take(count);
      }
    });
    for (Node& node : nodes) {
      execution().add_thread("notifier", [&node] { node.give_twice(); });
    }
  }
};

TEST(ReadyListModel, ThreeNotifiersAtRandom) { expect_holds_at_random<ThreeNotifiers>(); }
TEST(ReadyListModel, TwoNotifiersWakeTheEngine) { expect_holds<TwoNotifiers>(); }
TEST(ReadyListModel, ANodeIsNotifiedTwice) { expect_holds<TwiceTheSameNode>(); }
TEST(ReadyListModel, ASleepEndsBeforeTheNotifierHasWritten) { expect_holds<ASleepThatEndsEarly>(); }
TEST(ReadyListModel, AnArmedEngineIsArmedAgain) { expect_holds<ArmedAgain>(); }

TEST(ReadyListModel, FindsWhatWouldLoseAWakeUp) {
  expect_finds<TwoNotifiers>({Fault::blind, "ReadyList::empty"});
  expect_finds<TwoNotifiers>({Fault::blind, "ReadyList::wake_if_armed"});
  expect_finds<TwoNotifiers>({Fault::split, "ReadyList::arm"});
  expect_finds<TwoNotifiers>({Fault::split, "ReadyList::post", "compare_exchange"});
  expect_finds<TwiceTheSameNode>({Fault::split, "ReadyList::collect_posted"});
}

TEST(ReadyListModel, FindsANodeThatIsLookedAtTooEarly) {
  expect_finds<TwoNotifiers>({Fault::relax, "ReadyList::post"});
}

}  // namespace
}  // namespace pydoca::model
