#include "backend/sim/inbox/message_ring.hpp"
#include "fuzz/targets/sim_targets.hpp"

#include <memory>

namespace pydoca::fuzz {

namespace {

using sim::MessageRing;

constexpr std::uint64_t ring_bytes = 256;
enum class RingStep : std::uint8_t { write_bytes, set_written, set_read, look, publish, count };

/// The ring's bytes are a block of their own, so that a sanitizer sees an access beyond them.
struct HostileRing {
  sim::MessageRingState state;
  std::unique_ptr<std::byte[]> bytes = std::make_unique<std::byte[]>(ring_bytes);
  MessageRing reader{state, bytes.get(), ring_bytes};
  MessageRing writer{state, bytes.get(), ring_bytes};
};

/// Reads the payload as a queue pair does: the bytes of a record that look() has taken.
void read_record(const MessageRing& ring, const sim::RecordHeader& header) {
  std::byte all{};
  for (std::uint64_t done = 0; done < header.size;) {
    const MessageRing::Run run = ring.run_at(ring.payload_position() + done, header.size - done);
    require(run.size != 0 && run.size <= ring_bytes, "each run of a payload makes progress");
    for (std::uint64_t i = 0; i < run.size; ++i) {
      all ^= run.bytes[i];
    }
    done += run.size;
  }
  volatile std::byte used = all;
  static_cast<void>(used);
}

/// False after a lie, which ends the connection.
bool look_once(MessageRing& ring) {
  sim::RecordHeader header;
  const MessageRing::Look look = ring.look(header);
  if (look == MessageRing::Look::record) {
    require(MessageRing::footprint(header.size) <= ring_bytes, "a record that is taken fits the ring");
    read_record(ring, header);
    ring.consume(header);
  }
  return look != MessageRing::Look::invalid;
}

/// The writer does not leave the ring, whatever the reader tells.
bool publish_once(MessageRing& ring, std::uint32_t size) {
  std::uint64_t room = 0;
  if (!ring.room(room)) {
    return false;
  }
  require(room <= ring_bytes, "there is no more room than the ring has");
  if (MessageRing::footprint(size) <= room) {
    ring.publish({.size = size, .total = size});
  }
  return true;
}

}  // namespace

void run_ring(std::span<const std::byte> input) {
  HostileRing ring;
  for (Input parts(input); !parts.is_empty();) {
    switch (static_cast<RingStep>(parts.number<std::uint8_t>() % static_cast<std::uint8_t>(RingStep::count))) {
      case RingStep::write_bytes: {
        const std::size_t offset = parts.number<std::uint8_t>();
        const auto bytes = parts.take(std::min<std::size_t>(parts.number<std::uint8_t>(), ring_bytes - offset));
        std::ranges::copy(bytes, ring.bytes.get() + offset);
        break;
      }
      case RingStep::set_written:
        ring.state.written.store(parts.number<std::uint64_t>());
        break;
      case RingStep::set_read:
        ring.state.read.store(parts.number<std::uint64_t>());
        break;
      case RingStep::look:
        if (!look_once(ring.reader)) {
          return;
        }
        break;
      default:
        if (!publish_once(ring.writer, parts.number<std::uint16_t>())) {
          return;
        }
    }
  }
}

std::vector<Bytes> ring_seeds() {
  const auto step = [](RingStep which) { return static_cast<std::byte>(which); };
  Bytes honest{step(RingStep::publish), std::byte{40},  std::byte{0}, step(RingStep::look),
               step(RingStep::publish), std::byte{200}, std::byte{0}, step(RingStep::look)};
  Bytes liar{step(RingStep::set_written), std::byte{64}};
  liar.resize(9);
  liar.push_back(step(RingStep::look));
  return {honest, liar};
}

}  // namespace pydoca::fuzz
