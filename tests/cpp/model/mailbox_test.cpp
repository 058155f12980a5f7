#include "backend/sim/rdma/mailbox.hpp"

#include "model/data.hpp"
#include "model/event.hpp"
#include "model/model_test.hpp"

#include <gmock/gmock.h>

#include <array>

namespace pydoca::model {
namespace {

/// A context whose peers leave it work. The engine sleeps when the mailbox says that there is none.
struct Context {
  void check() {}
  void leave_work(std::uint32_t peer, std::size_t number) {
    work[number].write(1);
    given[number].store(true, std::memory_order_relaxed);
    mailbox.tell(peer);
  }
  /// As RdmaQueue::attend(): the event file is read when no peer has left anything.
  void attend() {
    const std::size_t before = done;
    mailbox.take_pending([this](std::uint32_t) {
      for (std::size_t number = 0; number < work.size(); ++number) {
        if (!is_done[number] && given[number].load(std::memory_order_relaxed)) {
          is_done[number] = true;
          ++done;
        }
      }
    });
    if (done == before) {
      mailbox.wake_up();
    }
  }
  void engine(std::size_t count) {
    for (attend(); done < count; attend()) {
      mailbox.fall_asleep();
      if (!mailbox.has_pending()) {
        sleep_on(mailbox.event_fd());
      }
    }
  }

  sim::Mailbox mailbox{0};
  std::array<Data<int>, 2> work;
  std::array<detail::Atomic<bool>, 2> given{};
  std::array<bool, 2> is_done{};  ///< the engine's
  std::size_t done = 0;
};

struct TwoPeers : Context {
  void start() {
    execution().add_thread("engine", [this] { engine(2); });
    execution().add_thread("peer 0", [this] { leave_work(0, 0); });
    execution().add_thread("peer 1", [this] { leave_work(1, 1); });
  }
};

struct APeerTwice : Context {
  void start() {
    execution().add_thread("engine", [this] { engine(2); });
    execution().add_thread("peer", [this] {
      leave_work(0, 0);
      leave_work(0, 1);
    });
  }
};

/// A peer is killed at any step: it may have taken the flag of a sleeping engine, and not have woken it.
template <bool wakes_in_any_case>
struct KilledPeer : Context {
  void start() {
    execution().add_thread("peer", [this] { mailbox.tell(0); });
    execution().add_thread("engine", [this] {
      bool has_noticed = false;
      const auto look = [&](std::uint32_t) { has_noticed = has_noticed || is_dead.load(std::memory_order_relaxed); };
      for (mailbox.take_pending(look); !has_noticed; mailbox.take_pending(look)) {
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
  detail::Atomic<bool> is_dead{false};
};

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

}  // namespace
}  // namespace pydoca::model
