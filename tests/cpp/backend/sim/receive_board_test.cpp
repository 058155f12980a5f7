#include "backend/sim/rdma/receive_board.hpp"

#include "backend/sim/rdma/mailbox.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <poll.h>
#include <semaphore>
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
  EXPECT_FALSE(rig.board.publish(100));
  EXPECT_FALSE(rig.board.publish(200));
  const auto first = rig.board.take(3);
  const auto second = rig.board.take(4);
  ASSERT_TRUE(first.has_value() && second.has_value());
  EXPECT_EQ(first->number, 0U);
  EXPECT_EQ(first->room, 100U);
  EXPECT_EQ(second->room, 200U);
  EXPECT_FALSE(rig.board.take(3).has_value());
  EXPECT_TRUE(rig.board.is_taken_by(0, 0, 3));
  EXPECT_FALSE(rig.board.is_taken_by(0, 0, 4));
  EXPECT_FALSE(rig.board.is_taken_by(0, num_slots, 3)) << "another receive";
}

TEST(ReceiveBoard, TellsOnceOfAReceiveThatWasWanted) {
  BoardRig rig;
  rig.board.want();
  EXPECT_TRUE(rig.board.publish(1));
  EXPECT_FALSE(rig.board.publish(1));
}

TEST(ReceiveBoard, WithdrawsWhatNobodyHasTaken) {
  BoardRig rig;
  static_cast<void>(rig.board.publish(1));
  static_cast<void>(rig.board.publish(2));
  ASSERT_TRUE(rig.board.take(0).has_value());
  EXPECT_FALSE(rig.board.withdraw(0));
  EXPECT_TRUE(rig.board.withdraw(1));
  EXPECT_FALSE(rig.board.take(0).has_value()) << "what was withdrawn";
  static_cast<void>(rig.board.publish(3));
  EXPECT_EQ(rig.board.take(0)->room, 3U);
}

TEST(ReceiveBoard, GoesOnAfterAPeerThatDiedBetweenTakingAndSayingSo) {
  BoardRig rig;
  static_cast<void>(rig.board.publish(1));
  static_cast<void>(rig.board.publish(2));
  rig.slots[0].state.store(0 << 16 | (5 + 1));  // taken by 5, and the cursor stands
  EXPECT_EQ(rig.board.take(6)->number, 1U);
  EXPECT_TRUE(rig.board.is_taken_by(0, 5));
}

/// Several threads take receives, and the owner posts each taken receive again. Each thread sleeps whenever the
/// protocol lets it. Each receive is taken exactly once.
TEST(ReceiveBoard, GivesEachReceiveOnceToManyTakersThatSleep) {
  constexpr std::uint64_t rounds = 20'000;
  constexpr std::uint32_t takers = 3;
  BoardRig rig;
  std::array<std::counting_semaphore<>, takers> wanted{std::counting_semaphore<>(0), std::counting_semaphore<>(0),
                                                       std::counting_semaphore<>(0)};
  std::counting_semaphore<> taken(0);
  std::vector<std::atomic<std::uint32_t>> times(rounds);
  std::vector<std::thread> threads;
  for (std::uint32_t self = 0; self < takers; ++self) {
    threads.emplace_back([&, self] {
      for (std::uint64_t i = 0; i < rounds; ++i) {
        auto mine = rig.board.take(self);
        while (!mine.has_value()) {
          rig.board.want();
          mine = rig.board.take(self);
          if (!mine.has_value()) {
            ASSERT_TRUE(wanted[self].try_acquire_for(soon));
          }
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
    if (rig.board.publish(std::min(posted, rounds))) {
      for (auto& taker : wanted) {
        taker.release();
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

/// An engine that sleeps on the event file, and two peers that tell it something.
TEST(Mailbox, LosesNoBitOfAPeer) {
  constexpr std::uint64_t rounds = 10'000;
  Mailbox mailbox(0);
  std::array<std::atomic<std::uint64_t>, 2> said{};
  std::array<std::counting_semaphore<>, 2> heard{std::counting_semaphore<>(0), std::counting_semaphore<>(0)};
  std::vector<std::thread> peers;
  for (std::uint32_t peer = 0; peer < 2; ++peer) {
    peers.emplace_back([&, peer] {
      for (std::uint64_t i = 0; i < rounds; ++i) {
        said[peer].store(i + 1, std::memory_order_seq_cst);
        mailbox.tell(700 + peer);
        ASSERT_TRUE(heard[peer].try_acquire_for(soon)) << i;
      }
    });
  }
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
      pollfd event{.fd = mailbox.event_fd(), .events = POLLIN, .revents = 0};
      ASSERT_TRUE((seen[0] == rounds && seen[1] == rounds) || ::poll(&event, 1, 20'000) == 1);
    }
    static_cast<void>(mailbox.wake_up());
  }
  for (std::thread& peer : peers) {
    peer.join();
  }
}

}  // namespace
}  // namespace pydoca::sim
