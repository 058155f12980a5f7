#include "backend/sim/inbox/receive_board.hpp"

#include "model/data.hpp"
#include "model/event.hpp"
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

using sim::ReceiveBoard;
using sim::ReceiveBoardState;
using sim::ReceiveSlot;

/// A context that posts receives, and two peers that fill them.
template <std::size_t num_slots>
struct Board {
  using Taken = std::optional<ReceiveBoard::Taken>;

  Board() {
    for (std::size_t index = 0; index < num_slots; ++index) {
      board.close(index);
    }
  }
  void check() {}

  // The owner.
  void publish() {
    const std::uint64_t number = board.next_number();
    receives[number].write(1);
    if (board.publish(room_of(number))) {
      for (const int file : told) {
        ::eventfd_write(file, 1);
      }
    }
  }
  static std::uint64_t room_of(std::uint64_t number) { return 100 + number; }
  bool is_taken(std::uint64_t number) const {
    const std::size_t index = board.index_of(number);
    return board.is_taken_by(index, number, 0) || board.is_taken_by(index, number, 1) ||
           board.is_taken_by(index, number, 2);
  }

  // A peer.
  Taken take(std::uint32_t peer) {
    const Taken taken = board.take(peer);
    if (taken.has_value()) {
      require(taken->room == room_of(taken->number), "a receive has its own room");
      require(receives[taken->number].read() == 1, "only its peer fills a receive");
      receives[taken->number].write(2);
    }
    return taken;
  }
  /// As QueuePair::take_receive(): tries, asks to be told, tries again, and sleeps.
  std::uint64_t await_receive(std::uint32_t peer) {
    for (;;) {
      Taken taken = take(peer);
      if (!taken.has_value()) {
        board.want();
        taken = take(peer);
      }
      if (taken.has_value()) {
        return taken->number;
      }
      sleep_on(told[peer]);
      eventfd_t ignored = 0;
      ::eventfd_read(told[peer], &ignored);
    }
  }

  ReceiveBoardState state;
  std::array<ReceiveSlot, num_slots> slots{};
  ReceiveBoard board{state, slots};
  std::array<Data<int>, 8> receives;  ///< by number: 1 when it was posted, 2 when it was filled
  const std::array<int, 3> told{event_files().create(0), event_files().create(0), event_files().create(0)};
  const int filled = event_files().create(0);
};

struct TwoPeersTake : Board<2> {
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

/// One slot for two receives, two peers that both wait.
struct TwoPeersWait : Board<1> {
  void start() {
    execution().add_thread("owner", [this] {
      publish();
      sleep_on(filled);
      require(is_taken(0), "the slot names its peer");
      require(receives[0].read() == 2, "the peer has filled it");
      board.close(0);
      publish();
    });
    for (const std::uint32_t peer : {0U, 1U}) {
      execution().add_thread(peer == 0 ? "peer 0" : "peer 1", [this, peer] {
        await_receive(peer);
        ::eventfd_write(filled, 1);
      });
    }
  }
};

/// The owner takes back what no peer has taken; the receive then is its own.
struct Withdrawal : Board<2> {
  bool withdraw(std::uint64_t number) {
    if (!board.withdraw(board.index_of(number))) {
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

/// A peer is killed at any step. The owner posts again what that peer had taken, and the other peer gets it.
struct KilledPeer : Board<2> {
  void start() {
    execution().add_thread("peer 0", [this] { static_cast<void>(board.take(0)); });
    execution().add_thread("owner", [this] {
      publish();
      sleep_on(died);
      if (board.is_taken_by(0, 0)) {
        board.close(0);
        publish();
      }
    });
    execution().add_thread("peer 1", [this] { await_receive(1); });
    execution().add_thread("killer", [this] {
      execution().kill(0);
      ::eventfd_write(died, 1);
    });
  }
  const int died = event_files().create(0);
};

/// More of everything, at random: six receives in two slots, for three peers.
struct ThreePeers : Board<2> {
  void start() {
    execution().add_thread("owner", [this] {
      publish();
      publish();
      for (std::uint64_t retired = 0; retired < 4; ++retired) {
        while (!is_filled(retired)) {
          sleep_on(filled);
          eventfd_t ignored = 0;
          ::eventfd_read(filled, &ignored);
        }
        board.close(board.index_of(retired));
        publish();
      }
    });
    for (const std::uint32_t peer : {0U, 1U, 2U}) {
      execution().add_thread("peer", [this, peer] {
        for (int round = 0; round < 2; ++round) {
          done[await_receive(peer)].store(true, std::memory_order_release);
          ::eventfd_write(filled, 1);
        }
      });
    }
  }
  bool is_filled(std::uint64_t number) {
    if (!done[number].load(std::memory_order_acquire)) {
      return false;
    }
    require(is_taken(number) && receives[number].read() == 2, "the slot names its peer, who has filled the receive");
    return true;
  }
  std::array<detail::Atomic<bool>, 6> done{};
};

/// What an execution leaves behind.
using Outcome = std::array<std::uint64_t, 7>;

template <class Model>
struct Recorded : Model {
  explicit Recorded(std::set<Outcome>& all) : outcomes(all) {}
  void check() {
    const auto count = [](int file) { return event_files().of(file).count; };
    outcomes.insert({this->slots[0].state.load(), this->state.posted.load(), this->state.taken.load(),
                     this->state.wanted.load(), count(this->told[0]), count(this->told[1]), count(this->filled)});
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
  EXPECT_GT(some.size(), 5U);
  EXPECT_TRUE(std::includes(all.begin(), all.end(), some.begin(), some.end()));
}

TEST(ReceiveBoardModel, ChanceFindsNoOutcomeThatTheSearchMisses) {
  expect_search_finds_what_chance_finds<TwoPeersWait>();
  expect_search_finds_what_chance_finds<KilledPeer>();
}

TEST(ReceiveBoardModel, ThreePeersAtRandom) { expect_holds_at_random<ThreePeers>(); }
TEST(ReceiveBoardModel, EachReceiveHasOnePeer) { expect_holds<TwoPeersTake>(); }
TEST(ReceiveBoardModel, PeersThatWaitAreTold) { expect_holds<TwoPeersWait>(); }
TEST(ReceiveBoardModel, AWithdrawnReceiveIsTheOwners) { expect_holds<Withdrawal>(); }
TEST(ReceiveBoardModel, AReceiveOfAKilledPeerGoesToAnother) { expect_holds<KilledPeer>(); }

TEST(ReceiveBoardModel, FindsTwoOwnersOfAReceive) {
  expect_finds<TwoPeersTake>({Fault::split, "ReceiveBoard::take", "compare_exchange", 1});
  expect_finds<Withdrawal>({Fault::split, "ReceiveBoard::withdraw"});
}

TEST(ReceiveBoardModel, FindsAReceiveThatIsTakenTooEarly) {
  expect_finds<TwoPeersTake>({Fault::relax, "ReceiveBoard::publish", "store"});
  expect_finds<TwoPeersTake>({Fault::late, "ReceiveBoard::publish", "store", 1});
  expect_finds<TwoPeersTake>({Fault::late, "ReceiveBoard::publish", "store", 2});
}

TEST(ReceiveBoardModel, FindsWhatWouldLoseAWakeUp) {
  expect_finds<TwoPeersWait>({Fault::weaken, "ReceiveBoard::want"});
  expect_finds<TwoPeersWait>({Fault::late, "ReceiveBoard::publish", "store", 3});
  expect_finds<TwoPeersWait>({Fault::weaken, "ReceiveBoard::publish"});
  expect_finds<TwoPeersWait>({Fault::blind, "ReceiveBoard::publish"});
}

}  // namespace
}  // namespace pydoca::model
