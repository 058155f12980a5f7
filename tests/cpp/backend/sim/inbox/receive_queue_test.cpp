#include "backend/sim/inbox/receive_queue.hpp"

#include "backend/sim/inbox/inbox_doorbell.hpp"
#include "backend/sim/inbox/mailbox.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <semaphore>
#include <sys/epoll.h>
#include <thread>
#include <vector>

namespace pydoca::sim {
namespace {

constexpr std::size_t num_slots = 8;
constexpr std::chrono::seconds soon{20};

struct ReceiveQueueRig {
  ReceiveQueueState state;
  std::array<ReceiveSlot, num_slots> slots{};
  ReceiveQueue receive_queue{state, slots};

  ReceiveQueueRig() {
    for (std::size_t index = 0; index < num_slots; ++index) {
      receive_queue.close(index);
    }
  }
};

TEST(ReceiveQueue, GivesReceivesInOrderWithTheirRoom) {
  ReceiveQueueRig rig;
  EXPECT_FALSE(rig.receive_queue.take(1).has_value());
  rig.receive_queue.publish(0, 100);
  rig.receive_queue.publish(1, 200);
  const auto first = rig.receive_queue.take(3);
  const auto second = rig.receive_queue.take(4);
  ASSERT_TRUE(first.has_value() && second.has_value());
  EXPECT_EQ(first->number, 0U);
  EXPECT_EQ(first->room, 100U);
  EXPECT_EQ(second->room, 200U);
  EXPECT_FALSE(rig.receive_queue.take(3).has_value());
  EXPECT_EQ(rig.receive_queue.taker(0), 3U);
  EXPECT_EQ(rig.receive_queue.taker(1), 4U);
  EXPECT_EQ(rig.receive_queue.taker(num_slots), ReceiveQueue::no_peer) << "another receive";
}

TEST(ReceiveQueue, TellsWhatNobodyHasTakenFromNonsense) {
  ReceiveQueueRig rig;
  rig.receive_queue.publish(0, 1);
  EXPECT_EQ(rig.receive_queue.taker(0), ReceiveQueue::nobody);
  rig.slots[0].state.store(0x1234'5678'9abc'def0);
  EXPECT_EQ(rig.receive_queue.taker(0), ReceiveQueue::no_peer);
  EXPECT_FALSE(rig.receive_queue.take(1).has_value());
  rig.receive_queue.restore(0);
  rig.receive_queue.restore_cursors(0, 1);
  EXPECT_EQ(rig.receive_queue.take(1)->number, 0U);
}

TEST(ReceiveQueue, GivesUpOnAQueueThatAPeerHasWrittenOver) {
  ReceiveQueueRig rig;
  rig.state.posted.store(~std::uint64_t{0});  // more receives than can be tried
  EXPECT_FALSE(rig.receive_queue.take(1).has_value());
  rig.state.taken.store(~std::uint64_t{0});
  EXPECT_FALSE(rig.receive_queue.take(1).has_value());
  rig.receive_queue.publish(0, 7);
  rig.receive_queue.restore_cursors(0, 1);
  EXPECT_EQ(rig.receive_queue.take(1)->room, 7U);
}

TEST(ReceiveQueue, WithdrawsWhatNobodyHasTaken) {
  ReceiveQueueRig rig;
  rig.receive_queue.publish(0, 1);
  rig.receive_queue.publish(1, 2);
  ASSERT_TRUE(rig.receive_queue.take(0).has_value());
  EXPECT_FALSE(rig.receive_queue.withdraw(0));
  EXPECT_TRUE(rig.receive_queue.withdraw(1));
  EXPECT_FALSE(rig.receive_queue.take(0).has_value()) << "what was withdrawn";
  rig.receive_queue.publish(2, 3);
  EXPECT_EQ(rig.receive_queue.take(0)->room, 3U);
}

TEST(ReceiveQueue, GoesOnAfterAPeerThatDiedBetweenTakingAndSayingSo) {
  ReceiveQueueRig rig;
  rig.receive_queue.publish(0, 1);
  rig.receive_queue.publish(1, 2);
  rig.slots[0].state.store(0 << 16 | (5 + 1));  // taken by 5, and the cursor has not moved
  EXPECT_EQ(rig.receive_queue.take(6)->number, 1U);
  EXPECT_EQ(rig.receive_queue.taker(0), 5U);
}

/// Several threads take receives, and the owner posts each taken receive again. Each thread sleeps whenever the
/// protocol lets it. Each receive is taken exactly once.
TEST(ReceiveQueue, GivesEachReceiveOnceToManyTakersThatSleep) {
  constexpr std::uint64_t rounds = 20'000;
  constexpr std::uint32_t takers = 3;
  ReceiveQueueRig rig;
  std::array<std::counting_semaphore<>, takers> wanted{std::counting_semaphore<>(0), std::counting_semaphore<>(0),
                                                       std::counting_semaphore<>(0)};
  std::array<InboxDoorbell, takers> doorbells;
  std::counting_semaphore<> taken(0);
  std::vector<std::atomic<std::uint32_t>> times(rounds);
  std::vector<std::thread> threads;
  for (std::uint32_t self = 0; self < takers; ++self) {
    threads.emplace_back([&, self] {
      for (std::uint64_t i = 0; i < rounds; ++i) {
        auto mine = rig.receive_queue.take(self);
        while (!mine.has_value()) {
          doorbells[self].want_receive();
          ASSERT_TRUE(wanted[self].try_acquire_for(soon));
          mine = rig.receive_queue.take(self);
        }
        if (mine->room == rounds) {
          return;  // the end
        }
        times[mine->room].fetch_add(1);
        rig.receive_queue.close(rig.receive_queue.index_of(mine->number));
        taken.release();
      }
    });
  }
  std::uint64_t posted = 0;
  for (std::uint64_t outstanding = 0; posted < rounds + takers; ++posted) {
    if (++outstanding > num_slots) {
      // Whoever posts must know that the slot is free: here, when the receive before it is over.
      while (rig.slots[rig.receive_queue.index_of(posted)].state.load() != ~std::uint64_t{0}) {
        ASSERT_TRUE(taken.try_acquire_for(soon));
      }
    }
    rig.receive_queue.publish(posted, std::min(posted, rounds));
    for (std::uint32_t taker = 0; taker < takers; ++taker) {
      if (doorbells[taker].begin_want()) {
        doorbells[taker].end_want();
        wanted[taker].release();
      }
    }
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (const auto& count : times) {
    ASSERT_EQ(count.load(), 1U);
  }
}

/// An engine that sleeps on the mailbox, and two that tell it something: a peer by its doorbell, and a thread of this
/// process.
TEST(Mailbox, LosesNoRing) {
  constexpr std::uint64_t rounds = 10'000;
  Mailbox mailbox;
  InboxDoorbell doorbell;
  const auto [here, there] = create_wake_sockets();
  mailbox.watch(here.get());
  mailbox.add(700, doorbell, here.get());
  std::array<std::atomic<std::uint64_t>, 2> said{};
  std::array<std::counting_semaphore<>, 2> heard{std::counting_semaphore<>(0), std::counting_semaphore<>(0)};
  std::vector<std::thread> peers;
  for (std::uint32_t peer = 0; peer < 2; ++peer) {
    peers.emplace_back([&, peer] {
      for (std::uint64_t i = 0; i < rounds; ++i) {
        said[peer].store(i + 1, std::memory_order_seq_cst);
        if (peer == 1) {
          mailbox.notify(701);
        } else if (doorbell.ring()) {
          send_wake(there.get());
        }
        ASSERT_TRUE(heard[peer].try_acquire_for(soon)) << i;
      }
    });
  }
  const detail::Fd epoll(::epoll_create1(EPOLL_CLOEXEC));
  epoll_event edge{.events = EPOLLIN | EPOLLET, .data = {}};
  ASSERT_EQ(::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, mailbox.wake_fd(), &edge), 0);
  std::array<std::uint64_t, 2> seen{};
  while (seen[0] < rounds || seen[1] < rounds) {
    mailbox.take_pending([&](std::uint32_t number) {
      const std::uint32_t peer = number - 700;
      for (; seen[peer] < said[peer].load(std::memory_order_seq_cst); ++seen[peer]) {
        heard[peer].release();
      }
    });
    mailbox.fall_asleep();
    if (!mailbox.has_pending()) {
      epoll_event event{};
      ASSERT_TRUE((seen[0] == rounds && seen[1] == rounds) || ::epoll_wait(epoll.get(), &event, 1, 20'000) == 1);
    }
    mailbox.wake_up();
  }
  for (std::thread& peer : peers) {
    peer.join();
  }
}

}  // namespace
}  // namespace pydoca::sim
