#include "backend/sim/inbox/receive_board.hpp"
#include "fuzz/targets/sim_targets.hpp"

#include <array>

namespace pydoca::fuzz {

namespace {

constexpr std::uint64_t num_slots = 4;
constexpr std::uint32_t num_peers = 3;
enum class BoardStep : std::uint8_t { set_slot, set_posted, set_taken, publish, take, withdraw, restore, close, count };

struct HostileBoard {
  sim::ReceiveBoardState state;
  std::array<sim::ReceiveSlot, num_slots> slots{};
  sim::ReceiveBoard board{state, slots};
  std::uint64_t next = 0;  ///< the owner's

  HostileBoard() {
    for (std::size_t index = 0; index < num_slots; ++index) {
      board.close(index);
    }
  }

  void take(std::uint32_t peer) {
    if (const auto taken = board.take(peer)) {
      require(taken->number >> 48 == 0, "a slot has room for the number of a receive");
      require(board.taker(taken->number) == peer, "the slot of a receive that was taken names the peer");
    }
  }
  /// The owner looks at all slots, and puts right what it thinks is wrong.
  void restore(std::uint64_t first) {
    for (std::uint64_t number = first; number != next; ++number) {
      if (board.taker(number) == sim::ReceiveBoard::no_peer) {
        board.restore(number);
      }
      require(board.taker(number) != sim::ReceiveBoard::no_peer, "a receive that was restored can be taken");
    }
    board.restore_cursors(first, next);
  }
  void step(Input& parts) {
    const auto which =
        static_cast<BoardStep>(parts.number<std::uint8_t>() % static_cast<std::uint8_t>(BoardStep::count));
    const std::uint64_t index = parts.number<std::uint8_t>() % num_slots;
    const std::uint32_t peer = parts.number<std::uint8_t>() % num_peers;
    switch (which) {
      case BoardStep::set_slot:
        slots[index].state.store(parts.number<std::uint64_t>());
        break;
      case BoardStep::set_posted:
        state.posted.store(parts.number<std::uint64_t>());
        break;
      case BoardStep::set_taken:
        state.taken.store(parts.number<std::uint64_t>());
        break;
      case BoardStep::publish:
        board.publish(next++, parts.number<std::uint16_t>());
        break;
      case BoardStep::take:
        take(peer);
        break;
      case BoardStep::withdraw:
        static_cast<void>(board.withdraw(next - std::min(index, next)));
        break;
      case BoardStep::restore:
        restore(next - std::min(index, next));
        break;
      default:
        board.close(index);
    }
  }
};

}  // namespace

void run_board(std::span<const std::byte> input) {
  HostileBoard board;
  for (Input parts(input); !parts.is_empty();) {
    board.step(parts);
  }
}

std::vector<Bytes> board_seeds() {
  Bytes seed;
  for (const auto step :
       {BoardStep::publish, BoardStep::publish, BoardStep::take, BoardStep::close, BoardStep::set_taken,
        BoardStep::take, BoardStep::restore, BoardStep::take, BoardStep::withdraw}) {
    seed.insert(seed.end(), {static_cast<std::byte>(step), std::byte{0}, std::byte{1}, std::byte{8}, std::byte{0}});
  }
  return {seed};
}

}  // namespace pydoca::fuzz
