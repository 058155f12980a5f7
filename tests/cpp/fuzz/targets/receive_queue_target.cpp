#include "backend/sim/inbox/receive_queue.hpp"
#include "fuzz/targets/sim_targets.hpp"

#include <array>

namespace pydoca::fuzz {

namespace {

constexpr std::uint64_t num_slots = 4;
constexpr std::uint32_t num_peers = 3;
enum class ReceiveQueueStep : std::uint8_t {
  set_slot,
  set_posted,
  set_taken,
  publish,
  take,
  withdraw,
  restore,
  close,
  count
};

struct HostileReceiveQueue {
  sim::ReceiveQueueState state;
  std::array<sim::ReceiveSlot, num_slots> slots{};
  sim::ReceiveQueue receive_queue{state, slots};
  std::uint64_t next = 0;  ///< the owner's

  HostileReceiveQueue() {
    for (std::size_t index = 0; index < num_slots; ++index) {
      receive_queue.close(index);
    }
  }

  void take(std::uint32_t peer) {
    if (const auto taken = receive_queue.take(peer)) {
      require(taken->number >> 48 == 0, "a slot has room for the number of a receive");
      require(receive_queue.taker(taken->number) == peer, "the slot of a receive that was taken names the peer");
    }
  }
  /// The owner looks at all slots, and puts right what it thinks is wrong.
  void restore(std::uint64_t first) {
    for (std::uint64_t number = first; number != next; ++number) {
      if (receive_queue.taker(number) == sim::ReceiveQueue::no_peer) {
        receive_queue.restore(number);
      }
      require(receive_queue.taker(number) != sim::ReceiveQueue::no_peer, "a receive that was restored can be taken");
    }
    receive_queue.restore_cursors(first, next);
  }
  void step(Input& parts) {
    const auto which = static_cast<ReceiveQueueStep>(parts.number<std::uint8_t>() %
                                                     static_cast<std::uint8_t>(ReceiveQueueStep::count));
    const std::uint64_t index = parts.number<std::uint8_t>() % num_slots;
    const std::uint32_t peer = parts.number<std::uint8_t>() % num_peers;
    switch (which) {
      case ReceiveQueueStep::set_slot:
        slots[index].state.store(parts.number<std::uint64_t>());
        break;
      case ReceiveQueueStep::set_posted:
        state.posted.store(parts.number<std::uint64_t>());
        break;
      case ReceiveQueueStep::set_taken:
        state.taken.store(parts.number<std::uint64_t>());
        break;
      case ReceiveQueueStep::publish:
        receive_queue.publish(next++, parts.number<std::uint16_t>());
        break;
      case ReceiveQueueStep::take:
        take(peer);
        break;
      case ReceiveQueueStep::withdraw:
        static_cast<void>(receive_queue.withdraw(next - std::min(index, next)));
        break;
      case ReceiveQueueStep::restore:
        restore(next - std::min(index, next));
        break;
      default:
        receive_queue.close(index);
    }
  }
};

}  // namespace

void run_receive_queue(std::span<const std::byte> input) {
  HostileReceiveQueue receive_queue;
  for (Input parts(input); !parts.is_empty();) {
    receive_queue.step(parts);
  }
}

std::vector<Bytes> receive_queue_seeds() {
  Bytes seed;
  for (const auto step : {ReceiveQueueStep::publish, ReceiveQueueStep::publish, ReceiveQueueStep::take,
                          ReceiveQueueStep::close, ReceiveQueueStep::set_taken, ReceiveQueueStep::take,
                          ReceiveQueueStep::restore, ReceiveQueueStep::take, ReceiveQueueStep::withdraw}) {
    seed.insert(seed.end(), {static_cast<std::byte>(step), std::byte{0}, std::byte{1}, std::byte{8}, std::byte{0}});
  }
  return {seed};
}

}  // namespace pydoca::fuzz
