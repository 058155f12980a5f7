#include "backend/sim/inbox/mailbox.hpp"

#include "backend/sim/inbox/inbox_doorbell.hpp"
#include "model/explorer/data.hpp"
#include "model/explorer/event.hpp"
#include "model/model_test.hpp"

#include <gmock/gmock.h>

#include <array>
#include <cstdint>

namespace pydoca::model {
namespace {

using Order = std::memory_order;

/// A context whose peers leave it work. The engine sleeps when the mailbox says that there is none.
struct SleepingContext {
  struct Peer {
    std::array<Data<int>, 2> work;
    detail::Atomic<std::uint32_t> given{0};
    std::uint32_t done = 0;  ///< the engine's
    sim::InboxDoorbell doorbell;
  };

  explicit SleepingContext(std::uint32_t num_ringing) {
    for (std::uint32_t number = 0; number < num_ringing; ++number) {
      mailbox.add(number, peers[number].doorbell, mailbox.wake_fd());
    }
  }
  void check() {}

  /// As PeerInbox::tell().
  void tell(Peer& peer) {
    if (peer.doorbell.ring()) {
      sim::send_wake(mailbox.wake_fd());
    }
  }
  void leave_work(std::uint32_t number, Order order) {
    Peer& peer = peers[number];
    const std::uint32_t given = peer.given.load(Order::relaxed);
    peer.work[given].write(1);
    peer.given.store(given + 1, order);
  }
  /// The process that has the inbox's other end.
  void ring(std::uint32_t number, Order order) {
    leave_work(number, order);
    tell(peers[number]);
  }
  /// Another thread of the engine's process.
  void notify(std::uint32_t number, Order order) {
    leave_work(number, order);
    mailbox.notify(number);
  }
  /// Does what RdmaQueue::attend() does.
  void attend(Order order) {
    mailbox.take_pending([&](std::uint32_t number) {
      Peer& peer = peers[number % 2];
      while (peer.done < peer.given.load(order)) {
        require(peer.work[peer.done++].read() == 1, "the work is there");
      }
    });
    if (mailbox.is_sleeping()) {
      mailbox.wake_up();
    }
  }
  void engine(Order order, std::uint32_t count) {
    EdgeWatch watch(mailbox.wake_fd());
    for (attend(order); peers[0].done + peers[1].done < count; attend(order)) {
      mailbox.fall_asleep();
      if (!mailbox.has_pending()) {
        watch.sleep();
      }
    }
  }

  sim::Mailbox mailbox;
  std::array<Peer, 2> peers;
};

/// Only the rings hand the work over.
struct TwoPeers : SleepingContext {
  TwoPeers() : SleepingContext(2) {}
  void start() {
    execution().add_thread("engine", [this] { engine(Order::relaxed, 2); });
    execution().add_thread("peer 0", [this] { ring(0, Order::relaxed); });
    execution().add_thread("peer 1", [this] { ring(1, Order::relaxed); });
  }
};

struct APeerAndAThread : SleepingContext {
  APeerAndAThread() : SleepingContext(1) {}
  void start() {
    execution().add_thread("engine", [this] { engine(Order::relaxed, 2); });
    execution().add_thread("peer", [this] { ring(0, Order::relaxed); });
    execution().add_thread("thread", [this] { notify(1, Order::relaxed); });
  }
};

struct TwoThreads : SleepingContext {
  TwoThreads() : SleepingContext(0) {}
  void start() {
    execution().add_thread("engine", [this] { engine(Order::relaxed, 2); });
    execution().add_thread("thread 0", [this] { notify(0, Order::relaxed); });
    execution().add_thread("thread 1", [this] { notify(1, Order::relaxed); });
  }
};

/// The engine may see the later work before it is told of it, as in a ring.
struct APeerTwice : SleepingContext {
  APeerTwice() : SleepingContext(1) {}
  void start() {
    execution().add_thread("engine", [this] { engine(Order::acquire, 2); });
    execution().add_thread("peer", [this] {
      ring(0, Order::release);
      ring(0, Order::release);
    });
  }
};

/// More of everything, at random.
struct CrowdOfPeers : SleepingContext {
  CrowdOfPeers() : SleepingContext(2) {}
  void start() {
    execution().add_thread("engine", [this] { engine(Order::acquire, 4); });
    for (const std::uint32_t number : {0U, 1U}) {
      execution().add_thread("peer", [this, number] {
        ring(number, Order::release);
        ring(number, Order::release);
      });
    }
    execution().add_thread("thread", [this] {
      mailbox.notify(1);
      mailbox.notify(70);
    });
  }
};

/// A peer is killed at any step: it may have taken the flag of a sleeping engine, and not have woken it. The engine
/// looks for the death when it attends to that peer. The service tells of the death as PeersFiles::gone() does.
template <bool notifies>
struct KilledPeer : SleepingContext {
  KilledPeer() : SleepingContext(1) {}
  void start() {
    execution().add_thread("peer", [this] { tell(peers[0]); });
    execution().add_thread("engine", [this] {
      EdgeWatch watch(mailbox.wake_fd());
      while (!notices_death()) {
        if (mailbox.is_sleeping()) {
          mailbox.wake_up();
        }
        mailbox.fall_asleep();
        if (!mailbox.has_pending()) {
          watch.sleep();
        }
      }
    });
    execution().add_thread("service", [this] {
      execution().kill(0);
      is_dead.store(true, Order::relaxed);
      notifies ? mailbox.notify(0) : tell(peers[0]);
    });
  }
  bool notices_death() {
    bool notices = false;
    mailbox.take_pending([&](std::uint32_t) { notices = notices || is_dead.load(Order::relaxed); });
    return notices;
  }
  detail::Atomic<bool> is_dead{false};
};

TEST(MailboxModel, ACrowdAtRandom) { expect_holds_at_random<CrowdOfPeers>(); }
TEST(MailboxModel, TwoPeersWakeTheEngine) { expect_holds<TwoPeers>(); }
TEST(MailboxModel, APeerAndAThreadWakeTheEngine) { expect_holds<APeerAndAThread>(); }
TEST(MailboxModel, TwoThreadsWakeTheEngine) { expect_holds<TwoThreads>(); }
TEST(MailboxModel, APeerComesAgain) { expect_holds<APeerTwice>(); }
TEST(MailboxModel, TellsOfAPeerThatIsKilled) { expect_holds<KilledPeer<true>>(); }

TEST(MailboxModel, FindsThatOnlyThisProcessCanTellOfADeath) {
  EXPECT_THAT(explore_all<KilledPeer<false>>({}).failure, testing::HasSubstr("sleeps for ever"));
}

TEST(MailboxModel, FindsWhatWouldLoseARing) {
  expect_finds<TwoPeers>({Fault::weaken, "InboxDoorbell::fall_asleep"});
  expect_finds<TwoPeers>({Fault::late, "InboxDoorbell::fall_asleep"});
  expect_finds<TwoPeers>({Fault::weaken, "InboxDoorbell::ring"});
  expect_finds<TwoPeers>({Fault::late, "InboxDoorbell::ring", "store"});
  expect_finds<TwoPeers>({Fault::blind, "InboxDoorbell::ring"});
  expect_finds<TwoPeers>({Fault::blind, "InboxDoorbell::is_pending"});
}

TEST(MailboxModel, FindsWhatWouldLoseANotice) {
  expect_finds<TwoThreads>({Fault::weaken, "Mailbox::fall_asleep"});
  expect_finds<TwoThreads>({Fault::late, "Mailbox::fall_asleep"});
  expect_finds<TwoThreads>({Fault::weaken, "Mailbox::notify", "store"});
  expect_finds<TwoThreads>({Fault::late, "Mailbox::notify", "store"});
  expect_finds<TwoThreads>({Fault::blind, "Mailbox::notify"});
  expect_finds<TwoThreads>({Fault::blind, "Mailbox::has_pending"});
}

TEST(MailboxModel, FindsWorkThatIsLookedAtTooEarly) {
  expect_finds<TwoPeers>({Fault::relax, "InboxDoorbell::ring", "store"});
  expect_finds<TwoThreads>({Fault::relax, "Mailbox::notify", "fetch_or"});
}

}  // namespace
}  // namespace pydoca::model
