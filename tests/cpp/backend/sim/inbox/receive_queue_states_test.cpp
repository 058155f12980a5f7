/// Everything that a slot and the cursors of a receive queue can hold, as its owner and its peers leave them or a
/// hostile peer writes them × every use.

#include "backend/sim/inbox/receive_queue.hpp"
#include "detail/concat.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <utility>

namespace pydoca::sim::receive_queue_states {
namespace {

constexpr std::uint64_t number = 6;  ///< numbers the receive that the slot has
constexpr std::uint64_t num_slots = 4;
constexpr std::uint64_t room = 100;
constexpr std::uint64_t odd_word = 0x1234'5678'9abc'def0;

enum class Slot : std::uint8_t { untaken, taken_by_0, taken_by_last, closed, earlier, later, nonsense };
enum class Cursors : std::uint8_t {
  right,       ///< this receive is the next
  late,        ///< the peer that took one before it has not said so
  ahead,       ///< nothing is posted, by what they say
  far_behind,  ///< more are posted than there are slots
  nonsense,
};

constexpr std::array all_slots{Slot::untaken, Slot::taken_by_0, Slot::taken_by_last, Slot::closed,
                               Slot::earlier, Slot::later,      Slot::nonsense};
constexpr std::array all_cursors{Cursors::right, Cursors::late, Cursors::ahead, Cursors::far_behind, Cursors::nonsense};

constexpr std::uint64_t taken_state(std::uint64_t which, std::uint64_t peer) { return which << 16U | (peer + 1); }

constexpr std::uint32_t last_peer = 0xfffd;

/// A receive queue that another has left so.
struct Cell {
  Slot slot;
  Cursors cursors;
  ReceiveQueueState state{};
  std::array<ReceiveSlot, num_slots> slots{};
  ReceiveQueue receive_queue{state, slots};

  Cell(Slot its_slot, Cursors its_cursors) : slot(its_slot), cursors(its_cursors) {
    for (std::size_t index = 0; index < num_slots; ++index) {
      receive_queue.close(index);
    }
    receive_queue.publish(number, room);
    slots[receive_queue.index_of(number)].state.store(slot_state());
    const auto [taken, posted] = cursor_values();
    state.taken.store(taken);
    state.posted.store(posted);
  }

  std::uint64_t slot_state() const {
    switch (slot) {
      case Slot::untaken:
        return number << 16U;
      case Slot::taken_by_0:
        return taken_state(number, 0);
      case Slot::taken_by_last:
        return taken_state(number, last_peer);
      case Slot::closed:
        return ~std::uint64_t{0};
      case Slot::earlier:
        return (number - num_slots) << 16U;
      case Slot::later:
        return (number + num_slots) << 16U;
      default:
        return odd_word;
    }
  }
  std::pair<std::uint64_t, std::uint64_t> cursor_values() const {
    switch (cursors) {
      case Cursors::right:
        return {number, number + 1};
      case Cursors::late:
        return {number - 1, number + 1};
      case Cursors::ahead:
        return {number + 1, number + 1};
      case Cursors::far_behind:
        return {0, number + 1};
      default:
        return {odd_word, ~odd_word};
    }
  }

  /// What the owner reads from the slot.
  std::uint32_t expected_taker() const {
    switch (slot) {
      case Slot::untaken:
        return ReceiveQueue::nobody;
      case Slot::taken_by_0:
        return 0;
      case Slot::taken_by_last:
        return last_peer;
      default:
        return ReceiveQueue::no_peer;
    }
  }
  /// Whether a peer may find it: only the cursors that lead to it, and only while it is untaken.
  bool can_be_taken() const {
    return slot == Slot::untaken && cursors != Cursors::ahead && cursors != Cursors::nonsense;
  }
};

template <class Check>
void each_cell(Check check) {
  for (const Slot slot : all_slots) {
    for (const Cursors cursors : all_cursors) {
      SCOPED_TRACE(detail::concat("slot ", static_cast<int>(slot), ", cursors ", static_cast<int>(cursors)));
      Cell cell(slot, cursors);
      check(cell);
    }
  }
}

TEST(ReceiveQueueStates, AreReadAsThePeerOrAsNonsense) {
  each_cell([](Cell& cell) { EXPECT_EQ(cell.receive_queue.taker(number), cell.expected_taker()); });
}

TEST(ReceiveQueueStates, GiveAPeerOnlyWhatIsUntaken) {
  each_cell([](Cell& cell) {
    const auto taken = cell.receive_queue.take(1);
    ASSERT_EQ(taken.has_value(), cell.can_be_taken());
    if (taken) {
      EXPECT_EQ(std::pair(taken->number, taken->room), std::pair(number, room));
      EXPECT_EQ(cell.receive_queue.taker(number), 1U);
      EXPECT_FALSE(cell.receive_queue.take(2).has_value()) << "once";
    }
  });
}

TEST(ReceiveQueueStates, LetTheOwnerWithdrawOnlyWhatIsUntaken) {
  each_cell([](Cell& cell) {
    EXPECT_EQ(cell.receive_queue.withdraw(number), cell.slot == Slot::untaken);
    EXPECT_FALSE(cell.receive_queue.take(1).has_value());
  });
}

TEST(ReceiveQueueStates, AreRestoredByTheOwner) {
  each_cell([](Cell& cell) {
    cell.receive_queue.restore(number);
    cell.receive_queue.restore_cursors(number, number + 1);
    const auto taken = cell.receive_queue.take(2);
    ASSERT_TRUE(taken.has_value());
    EXPECT_EQ(taken->number, number);
    EXPECT_EQ(cell.receive_queue.taker(number), 2U);
  });
}

TEST(ReceiveQueueStates, EndWithTheSlotsEnd) {
  each_cell([](Cell& cell) {
    cell.receive_queue.close(cell.receive_queue.index_of(number));
    EXPECT_FALSE(cell.receive_queue.take(1).has_value());
    EXPECT_FALSE(cell.receive_queue.withdraw(number));
    EXPECT_EQ(cell.receive_queue.taker(number), ReceiveQueue::no_peer);
  });
}

}  // namespace
}  // namespace pydoca::sim::receive_queue_states
