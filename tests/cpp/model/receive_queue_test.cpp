#include "backend/sim/inbox/receive_queue.hpp"

#include "model/explorer/data.hpp"
#include "model/explorer/event.hpp"
#include "model/model_test.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <sys/eventfd.h>

namespace pydoca::model {
namespace {

using sim::ReceiveQueue;
using sim::ReceiveQueueState;
using sim::ReceiveSlot;

/// A context that posts receives, and peers that fill them.
template <std::size_t num_slots>
struct Receives {
  using Taken = std::optional<ReceiveQueue::Taken>;

  Receives() {
    for (std::size_t index = 0; index < num_slots; ++index) {
      receive_queue.close(index);
    }
  }
  void check() {}

  // The owner.
  void publish() {
    const std::uint64_t number = next_number++;
    receives[number].write(1);
    receive_queue.publish(number, room_of(number));
  }
  static std::uint64_t room_of(std::uint64_t number) { return 100 + number; }
  bool is_taken(std::uint64_t number) const { return receive_queue.taker(number) < 3; }

  // A peer.
  Taken take(std::uint32_t peer) {
    const Taken taken = receive_queue.take(peer);
    if (taken.has_value()) {
      require(taken->room == room_of(taken->number), "a receive has its own room");
      require(receives[taken->number].read() == 1, "only its peer fills a receive");
      receives[taken->number].write(2);
    }
    return taken;
  }

  ReceiveQueueState state;
  std::array<ReceiveSlot, num_slots> slots{};
  ReceiveQueue receive_queue{state, slots};
  std::uint64_t next_number = 0;      ///< the owner's
  std::array<Data<int>, 8> receives;  ///< by number: 1 when it was posted, 2 when it was filled
};

struct TwoPeersTake : Receives<2> {
  void start() {
    execution().add_thread("owner", [this] {
      publish();
      publish();
    });
    for (const std::uint32_t peer : {0U, 1U}) {
      execution().add_thread(peer == 0 ? "peer 0" : "peer 1", [this, peer] {
        static_cast<void>(take(peer));
        static_cast<void>(take(peer));
      });
    }
  }
  void check() {
    static_cast<void>(take(0));
    static_cast<void>(take(0));
    require(receives[0].read() == 2 && receives[1].read() == 2, "each receive can be taken");
  }
};

/// The owner takes back what no peer has taken; the receive then is its own.
struct Withdrawal : Receives<2> {
  bool withdraw(std::uint64_t number) {
    if (!receive_queue.withdraw(number)) {
      require(is_taken(number), "a receive that cannot be withdrawn has a peer");
      return false;
    }
    receives[number].end();
    return true;
  }
  void start() {
    execution().add_thread("owner", [this] {
      publish();
      publish();
      const bool is_free = withdraw(0);
      withdraw(1);
      if (is_free) {
        publish();
      }
    });
    for (const std::uint32_t peer : {0U, 1U}) {
      execution().add_thread(peer == 0 ? "peer 0" : "peer 1", [this, peer] { static_cast<void>(take(peer)); });
    }
  }
};

/// A peer is killed at any step. The owner posts again what that peer had taken, and the other peer gets both.
struct KilledTaker : Receives<2> {
  void start() {
    execution().add_thread("peer 0", [this] { static_cast<void>(receive_queue.take(0)); });
    execution().add_thread("owner", [this] {
      publish();
      sleep_on(died);
      if (receive_queue.taker(0) == 0) {
        receive_queue.close(0);
        publish();
      }
    });
    execution().add_thread("peer 1", [this] { static_cast<void>(take(1)); });
    execution().add_thread("killer", [this] {
      execution().kill(0);
      ::eventfd_write(died, 1);
    });
  }
  void check() {
    static_cast<void>(take(1));
    static_cast<void>(take(1));
    require(receives[next_number - 1].read() == 2, "the last receive can be taken");
  }
  const int died = event_files().create(0);
};

/// A peer writes anything to the cursors while another takes: it takes what the owner has posted, or nothing. It has so
/// many tries that the schedules run at random.
struct HostilePeer : Receives<2> {
  void start() {
    execution().add_thread("owner", [this] {
      publish();
      publish();
      receive_queue.restore_cursors(0, 2);
    });
    execution().add_thread("peer", [this] { static_cast<void>(take(0)); });
    execution().add_thread("hostile", [this] {
      state.posted.store(~std::uint64_t{0});
      state.taken.store(1);
    });
  }
};

/// What an execution leaves behind.
using Outcome = std::array<std::uint64_t, 4>;

template <class Model>
struct Recorded : Model {
  explicit Recorded(std::set<Outcome>& all) : outcomes(all) {}
  void check() {
    outcomes.insert({this->slots[0].state.load(), this->slots[1].state.load(), this->state.posted.load(),
                     this->state.taken.load()});
  }
  std::set<Outcome>& outcomes;
};

/// The outcomes of random schedules are among those of the search: the reduction has dropped none.
template <class Model>
void expect_search_finds_what_chance_finds() {
  std::set<Outcome> all;
  std::set<Outcome> some;
  explore_all<Recorded<Model>>({}, std::ref(all));
  AtRandom chance(1);
  explore<Recorded<Model>>(chance, {}, Limits{.executions = 10'000}, std::ref(some));
  EXPECT_GE(some.size(), 5U);
  EXPECT_TRUE(std::includes(all.begin(), all.end(), some.begin(), some.end()));
}

TEST(ReceiveQueueModel, ChanceFindsNoOutcomeThatTheSearchMisses) {
  expect_search_finds_what_chance_finds<TwoPeersTake>();
  expect_search_finds_what_chance_finds<KilledTaker>();
}

TEST(ReceiveQueueModel, EachReceiveHasOnePeer) { expect_holds<TwoPeersTake>(); }
TEST(ReceiveQueueModel, AWithdrawnReceiveIsTheOwners) { expect_holds<Withdrawal>(); }
TEST(ReceiveQueueModel, AReceiveOfAKilledPeerGoesToAnother) { expect_holds<KilledTaker>(); }
TEST(ReceiveQueueModel, APeerThatWritesToTheCursorsGivesNobodyAnothersReceive) {
  expect_holds_at_random<HostilePeer>();
}

TEST(ReceiveQueueModel, FindsTwoOwnersOfAReceive) {
  expect_finds<TwoPeersTake>({Fault::split, "ReceiveQueue::take", "compare_exchange", 1});
  expect_finds<Withdrawal>({Fault::split, "ReceiveQueue::withdraw"});
}

TEST(ReceiveQueueModel, FindsAReceiveThatIsTakenTooEarly) {
  expect_finds<TwoPeersTake>({Fault::relax, "ReceiveQueue::publish", "store"});
  expect_finds<TwoPeersTake>({Fault::late, "ReceiveQueue::publish", "store", 1});
  expect_finds<TwoPeersTake>({Fault::late, "ReceiveQueue::publish", "store", 2});
}

}  // namespace
}  // namespace pydoca::model
