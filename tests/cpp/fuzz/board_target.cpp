#include "backend/sim/inbox/receive_board.hpp"
#include "fuzz/sim_targets.hpp"

#include <array>

namespace pydoca::fuzz {

namespace {

constexpr std::uint64_t num_slots = 4;
constexpr std::uint32_t num_peers = 3;
enum class BoardStep : std::uint8_t { set_slot, set_posted, set_taken, publish, take, withdraw, close, count };

struct HostileBoard {
  sim::ReceiveBoardState state;
  std::array<sim::ReceiveSlot, num_slots> slots{};
  sim::ReceiveBoard board{state, slots};

  HostileBoard() {
    for (std::size_t index = 0; index < num_slots; ++index) {
      board.close(index);
    }
  }

  void step(Input& parts) {
    const auto which =
        static_cast<BoardStep>(parts.number<std::uint8_t>() % static_cast<std::uint8_t>(BoardStep::count));
    const auto index = parts.number<std::uint8_t>() % num_slots;
    const auto peer = parts.number<std::uint8_t>() % num_peers;
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
        board.publish(parts.number<std::uint16_t>());
        break;
      case BoardStep::take:
        static_cast<void>(board.take(peer));
        break;
      case BoardStep::withdraw:
        static_cast<void>(board.withdraw(index));
        break;
      default:
        static_cast<void>(board.is_taken_by(index, peer));
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
  for (const auto step : {BoardStep::publish, BoardStep::publish, BoardStep::take, BoardStep::close,
                          BoardStep::set_taken, BoardStep::take, BoardStep::withdraw}) {
    seed.insert(seed.end(), {static_cast<std::byte>(step), std::byte{0}, std::byte{1}, std::byte{8}, std::byte{0}});
  }
  return {seed};
}

}  // namespace pydoca::fuzz
