#include "backend/sim/inbox/mailbox.hpp"

#include "model/data.hpp"
#include "model/event.hpp"
#include "model/model_test.hpp"

#include <gmock/gmock.h>

#include <array>
#include <cstdint>

namespace pydoca::model {
namespace {

using Order = std::memory_order;

/// A context whose peers leave it work. The engine sleeps when the mailbox says that there is none.
struct Context {
  struct Peer {
    std::array<Data<int>, 2> work;
    detail::Atomic<std::uint32_t> given{0};
    std::uint32_t done = 0;  ///< the engine's
  };

  void check() {}
  void leave_work(std::uint32_t number, Order order) {
    Peer& peer = peers[number];
    const std::uint32_t given = peer.given.load(Order::relaxed);
    peer.work[given].write(1);
    peer.given.store(given + 1, order);
    mailbox.tell(number);
  }
  /// As RdmaQueue::attend(): the event file is read when no peer has left anything.
  void attend(Order order) {
    bool has_found = false;
    mailbox.take_pending([&](std::uint32_t number) {
      Peer& peer = peers[number];
      while (peer.done < peer.given.load(order)) {
        require(peer.work[peer.done++].read() == 1, "the work is there");
        has_found = true;
      }
    });
    if (!has_found) {
      mailbox.wake_up();
    }
  }
  void engine(Order order, std::uint32_t count) {
    for (attend(order); peers[0].done + peers[1].done < count; attend(order)) {
      mailbox.fall_asleep();
      if (!mailbox.has_pending()) {
        sleep_on(mailbox.event_fd());
      }
    }
  }

  sim::Mailbox mailbox{0};
  std::array<Peer, 2> peers;
};

/// Only the mailbox hands the work over.
struct TwoPeers : Context {
  void start() {
    execution().add_thread("engine", [this] { engine(Order::relaxed, 2); });
    execution().add_thread("peer 0", [this] { leave_work(0, Order::relaxed); });
    execution().add_thread("peer 1", [this] { leave_work(1, Order::relaxed); });
  }
};

/// The engine may see the later work before it is told of it, as in a ring.
struct APeerTwice : Context {
  void start() {
    execution().add_thread("engine", [this] { engine(Order::acquire, 2); });
    execution().add_thread("peer", [this] {
      leave_work(0, Order::release);
      leave_work(0, Order::release);
    });
  }
};

/// More of everything, at random.
struct TwoPeersTwice : Context {
  void start() {
    execution().add_thread("engine", [this] { engine(Order::acquire, 4); });
    for (const std::uint32_t number : {0U, 1U}) {
      execution().add_thread("peer", [this, number] {
        leave_work(number, Order::release);
        leave_work(number, Order::release);
      });
    }
  }
};

/// A peer is killed at any step: it may have taken the flag of a sleeping engine, and not have woken it.
template <bool wakes_in_any_case>
struct KilledPeer : Context {
  void start() {
    execution().add_thread("peer", [this] { mailbox.tell(0); });
    execution().add_thread("engine", [this] {
      while (!notices_death()) {
        mailbox.wake_up();
        mailbox.fall_asleep();
        if (!mailbox.has_pending()) {
          sleep_on(mailbox.event_fd());
        }
      }
    });
    execution().add_thread("service", [this] {
      execution().kill(0);
      is_dead.store(true, std::memory_order_relaxed);
      wakes_in_any_case ? mailbox.tell_of_death(0) : mailbox.tell(0);
    });
  }
  bool notices_death() {
    bool notices = false;
    mailbox.take_pending([&](std::uint32_t) { notices = is_dead.load(std::memory_order_relaxed); });
    return notices;
  }
  detail::Atomic<bool> is_dead{false};
};

TEST(MailboxModel, TwoPeersTwiceAtRandom) { expect_holds_at_random<TwoPeersTwice>(); }
TEST(MailboxModel, TwoPeersWakeTheEngine) { expect_holds<TwoPeers>(); }
TEST(MailboxModel, APeerComesAgain) { expect_holds<APeerTwice>(); }
TEST(MailboxModel, TellsOfAPeerThatIsKilled) { expect_holds<KilledPeer<true>>(); }

TEST(MailboxModel, FindsThatADeathMustWakeTheEngine) {
  EXPECT_THAT(explore_all<KilledPeer<false>>({}).failure, testing::HasSubstr("sleeps for ever"));
}

TEST(MailboxModel, FindsWhatWouldLoseAWakeUp) {
  expect_finds<TwoPeers>({Fault::weaken, "Mailbox::fall_asleep"});
  expect_finds<TwoPeers>({Fault::late, "Mailbox::fall_asleep"});
  expect_finds<TwoPeers>({Fault::blind, "Mailbox::has_pending"});
  expect_finds<TwoPeers>({Fault::split, "Mailbox::tell", "fetch_or"});
  expect_finds<TwoPeers>({Fault::blind, "Mailbox::tell"});
}

TEST(MailboxModel, FindsWorkThatIsLookedAtTooEarly) {
  expect_finds<TwoPeers>({Fault::relax, "Mailbox::tell", "fetch_or"});
  expect_finds<TwoPeers>({Fault::relax, "Mailbox::take_pending", "exchange"});
}

}  // namespace
}  // namespace pydoca::model
