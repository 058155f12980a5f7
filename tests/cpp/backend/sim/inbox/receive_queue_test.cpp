#include "backend/sim/inbox/receive_board.hpp"

#include "backend/sim/inbox/knock.hpp"
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

struct BoardRig {
  ReceiveBoardState state;
  std::array<ReceiveSlot, num_slots> slots{};
  ReceiveBoard board{state, slots};

  BoardRig() {
    for (std::size_t index = 0; index < num_slots; ++index) {
      board.close(index);
    }
  }
};

TEST(ReceiveBoard, GivesReceivesInOrderWithTheirRoom) {
  BoardRig rig;
  EXPECT_FALSE(rig.board.take(1).has_value());
  rig.board.publish(0, 100);
  rig.board.publish(1, 200);
  const auto first = rig.board.take(3);
  const auto second = rig.board.take(4);
  ASSERT_TRUE(first.has_value() && second.has_value());
  EXPECT_EQ(first->number, 0U);
  EXPECT_EQ(first->room, 100U);
  EXPECT_EQ(second->room, 200U);
  EXPECT_FALSE(rig.board.take(3).has_value());
  EXPECT_EQ(rig.board.taker(0), 3U);
  EXPECT_EQ(rig.board.taker(1), 4U);
  EXPECT_EQ(rig.board.taker(num_slots), ReceiveBoard::no_peer) << "another receive";
}

TEST(ReceiveBoard, TellsWhatNobodyHasTakenFromNonsense) {
  BoardRig rig;
  rig.board.publish(0, 1);
  EXPECT_EQ(rig.board.taker(0), ReceiveBoard::nobody);
  rig.slots[0].state.store(0x1234'5678'9abc'def0);
  EXPECT_EQ(rig.board.taker(0), ReceiveBoard::no_peer);
  EXPECT_FALSE(rig.board.take(1).has_value());
  rig.board.restore(0);
  rig.board.restore_cursors(0, 1);
  EXPECT_EQ(rig.board.take(1)->number, 0U);
}

TEST(ReceiveBoard, GivesUpOnABoardThatAPeerHasWrittenOver) {
  BoardRig rig;
  rig.state.posted.store(~std::uint64_t{0});  // more receives than can be tried
  EXPECT_FALSE(rig.board.take(1).has_value());
  rig.state.taken.store(~std::uint64_t{0});
  EXPECT_FALSE(rig.board.take(1).has_value());
  rig.board.publish(0, 7);
  rig.board.restore_cursors(0, 1);
  EXPECT_EQ(rig.board.take(1)->room, 7U);
}

TEST(ReceiveBoard, WithdrawsWhatNobodyHasTaken) {
  BoardRig rig;
  rig.board.publish(0, 1);
  rig.board.publish(1, 2);
  ASSERT_TRUE(rig.board.take(0).has_value());
  EXPECT_FALSE(rig.board.withdraw(0));
  EXPECT_TRUE(rig.board.withdraw(1));
  EXPECT_FALSE(rig.board.take(0).has_value()) << "what was withdrawn";
  rig.board.publish(2, 3);
  EXPECT_EQ(rig.board.take(0)->room, 3U);
}

TEST(ReceiveBoard, GoesOnAfterAPeerThatDiedBetweenTakingAndSayingSo) {
  BoardRig rig;
  rig.board.publish(0, 1);
  rig.board.publish(1, 2);
  rig.slots[0].state.store(0 << 16 | (5 + 1));  // taken by 5, and the cursor has not moved
  EXPECT_EQ(rig.board.take(6)->number, 1U);
  EXPECT_EQ(rig.board.taker(0), 5U);
}

/// Several threads take receives, and the owner posts each taken receive again. Each thread sleeps whenever the
/// protocol lets it. Each receive is taken exactly once.
TEST(ReceiveBoard, GivesEachReceiveOnceToManyTakersThatSleep) {
  constexpr std::uint64_t rounds = 20'000;
  constexpr std::uint32_t takers = 3;
  BoardRig rig;
  std::array<std::counting_semaphore<>, takers> wanted{std::counting_semaphore<>(0), std::counting_semaphore<>(0),
                                                       std::counting_semaphore<>(0)};
  std::array<Knock, takers> knocks;
  std::counting_semaphore<> taken(0);
  std::vector<std::atomic<std::uint32_t>> times(rounds);
  std::vector<std::thread> threads;
  for (std::uint32_t self = 0; self < takers; ++self) {
    threads.emplace_back([&, self] {
      for (std::uint64_t i = 0; i < rounds; ++i) {
        auto mine = rig.board.take(self);
        while (!mine.has_value()) {
          knocks[self].want_receive();
          ASSERT_TRUE(wanted[self].try_acquire_for(soon));
          mine = rig.board.take(self);
        }
        if (mine->room == rounds) {
          return;  // the end
        }
        times[mine->room].fetch_add(1);
        rig.board.close(rig.board.index_of(mine->number));
        taken.release();
      }
    });
  }
  std::uint64_t posted = 0;
  for (std::uint64_t outstanding = 0; posted < rounds + takers; ++posted) {
    if (++outstanding > num_slots) {
      // Whoever posts must know that the slot is free: here, when the receive before it is over.
      while (rig.slots[rig.board.index_of(posted)].state.load() != ~std::uint64_t{0}) {
        ASSERT_TRUE(taken.try_acquire_for(soon));
      }
    }
    rig.board.publish(posted, std::min(posted, rounds));
    for (std::uint32_t taker = 0; taker < takers; ++taker) {
      if (knocks[taker].begin_want()) {
        knocks[taker].end_want();
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

/// An engine that sleeps on the mailbox, and two that tell it something: a peer by its knock, and a thread of this
/// process.
TEST(Mailbox, LosesNoKnock) {
  constexpr std::uint64_t rounds = 10'000;
  Mailbox mailbox;
  Knock knock;
  const auto [here, there] = create_wake_sockets();
  mailbox.watch(here.get());
  mailbox.add(700, knock, here.get());
  std::array<std::atomic<std::uint64_t>, 2> said{};
  std::array<std::counting_semaphore<>, 2> heard{std::counting_semaphore<>(0), std::counting_semaphore<>(0)};
  std::vector<std::thread> peers;
  for (std::uint32_t peer = 0; peer < 2; ++peer) {
    peers.emplace_back([&, peer] {
      for (std::uint64_t i = 0; i < rounds; ++i) {
        said[peer].store(i + 1, std::memory_order_seq_cst);
        if (peer == 1) {
          mailbox.notify(701);
        } else if (knock.knock()) {
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
