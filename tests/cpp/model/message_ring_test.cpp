#include "backend/sim/inbox/message_ring.hpp"

#include "model/explorer/data.hpp"
#include "model/explorer/event.hpp"
#include "model/model_test.hpp"

#include <array>
#include <cstring>
#include <sys/eventfd.h>

namespace pydoca::model {
namespace {

using sim::MessageRing;
using sim::MessageRingState;
using sim::RecordHeader;

/// Records of one size between two threads. The writer sleeps while the ring is full, the reader while it is empty.
template <std::uint64_t num_places>
struct Ring {
  static constexpr std::uint32_t payload = 8;
  static constexpr std::uint64_t record = MessageRing::footprint(payload);
  static constexpr std::uint64_t size = num_places * record;

  void check() {}
  void start() {
    execution().add_thread("writer", [this] {
      for (std::uint64_t number = 0; number < 3; ++number) {
        await_room();
        write(number);
      }
    });
    execution().add_thread("reader", [this] {
      for (std::uint64_t number = 0; number < 3; ++number) {
        read(number);
      }
    });
  }

  /// Does what QueuePair::reserve() does.
  void await_room() {
    for (;;) {
      std::uint64_t room = 0;
      bool sound = writer.room(room);
      if (sound && room < record) {
        writer.want_room();
        sound = writer.room(room);
      }
      require(sound, "the reader keeps to the rules");
      if (room >= record) {
        return;
      }
      sleep_on(has_room);
      eventfd_t ignored = 0;
      ::eventfd_read(has_room, &ignored);
    }
  }
  void write(std::uint64_t number) {
    places[number % num_places].write(number);
    std::memcpy(writer.run_at(writer.payload_position(), payload).bytes, &number, payload);
    writer.publish({.size = payload, .receive = number});
    ::eventfd_write(has_record, 1);
  }
  void read(std::uint64_t number) {
    RecordHeader header;
    MessageRing::Look look = reader.look(header);
    for (; look == MessageRing::Look::nothing; look = reader.look(header)) {
      sleep_on(has_record);
      eventfd_t ignored = 0;
      ::eventfd_read(has_record, &ignored);
    }
    require(look == MessageRing::Look::record && header.receive == number, "the next record comes");
    require(places[number % num_places].read() == number, "a record is read before its place is used again");
    if (reader.consume(header)) {
      ::eventfd_write(has_room, 1);
    }
  }

  MessageRingState state;
  alignas(64) std::array<std::byte, size> bytes{};
  MessageRing writer{state, bytes.data(), size};
  MessageRing reader{state, bytes.data(), size};
  std::array<Data<std::uint64_t>, num_places> places;
  const int has_room = event_files().create(0);
  const int has_record = event_files().create(0);
};

/// A writer that is killed at any step leaves whole records.
struct KilledWriter : Ring<2> {
  void start() {
    execution().add_thread("writer", [this] {
      write(0);
      write(1);
    });
    execution().add_thread("reader", [this] {
      std::uint64_t number = 0;
      for (int look = 0; look < 3; ++look) {
        number += take_whole(number) ? 1U : 0U;
      }
    });
    execution().add_thread("killer", [] { execution().kill(0); });
  }
  bool take_whole(std::uint64_t number) {
    RecordHeader header;
    const MessageRing::Look look = reader.look(header);
    require(look != MessageRing::Look::invalid, "a dead writer broke no rule");
    if (look != MessageRing::Look::record) {
      return false;
    }
    require(header.receive == number && places[number].read() == number, "the record is whole");
    static_cast<void>(reader.consume(header));
    return true;
  }
};

TEST(MessageRingModel, ARingOfOneRecord) { expect_holds<Ring<1>>(); }
TEST(MessageRingModel, ARingOfTwoRecords) { expect_holds<Ring<2>>(); }
TEST(MessageRingModel, AKilledWriterLeavesWholeRecords) { expect_holds<KilledWriter>(); }

/// More of everything, at random.
struct LongTransfer : Ring<2> {
  void start() {
    execution().add_thread("writer", [this] {
      for (std::uint64_t number = 0; number < 8; ++number) {
        await_room();
        write(number);
      }
    });
    execution().add_thread("reader", [this] {
      for (std::uint64_t number = 0; number < 8; ++number) {
        read(number);
      }
    });
  }
};

TEST(MessageRingModel, ALongTransferAtRandom) { expect_holds_at_random<LongTransfer>(); }

TEST(MessageRingModel, FindsWhatWouldLoseAWakeUp) {
  expect_finds<Ring<1>>({Fault::weaken, "MessageRing::want_room"});
  expect_finds<Ring<1>>({Fault::late, "MessageRing::want_room"});
  expect_finds<Ring<1>>({Fault::weaken, "MessageRing::consume"});
  expect_finds<Ring<1>>({Fault::late, "MessageRing::consume"});
  expect_finds<Ring<1>>({Fault::blind, "MessageRing::consume"});
}

TEST(MessageRingModel, FindsAPlaceThatIsUsedTooEarly) {
  expect_finds<Ring<2>>({Fault::relax, "MessageRing::publish"});
  expect_finds<Ring<2>>({Fault::relax, "MessageRing::look"});
  expect_finds<Ring<2>>({Fault::relax, "MessageRing::consume", "store"});
  expect_finds<Ring<1>>({Fault::blind, "MessageRing::room"});
}

}  // namespace
}  // namespace pydoca::model
