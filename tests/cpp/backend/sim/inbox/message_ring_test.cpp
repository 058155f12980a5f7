#include "backend/sim/inbox/message_ring.hpp"

#include "rig/stress_time.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <semaphore>
#include <thread>
#include <vector>

namespace pydoca::sim {
namespace {

constexpr std::uint64_t ring_size = 1024;

/// A ring with both its ends in this process.
struct RingRig {
  MessageRingState state;
  alignas(64) std::array<std::byte, ring_size> bytes{};
  MessageRing writer{state, bytes.data(), ring_size};
  MessageRing reader{state, bytes.data(), ring_size};

  bool fits(std::uint64_t payload) const {
    std::uint64_t room = 0;
    EXPECT_TRUE(writer.room(room));
    return room >= MessageRing::footprint(payload);
  }
};

TEST(MessageRing, GivesRecordsInOrder) {
  RingRig rig;
  RecordHeader header;
  EXPECT_EQ(rig.reader.look(header), MessageRing::Look::nothing);
  rig.writer.publish({.type = RecordType::send, .size = 5, .receive = 7, .total = 5});
  rig.writer.publish({.type = RecordType::send_imm, .size = 0, .immediate = 9});
  ASSERT_EQ(rig.reader.look(header), MessageRing::Look::record);
  EXPECT_EQ(header.receive, 7U);
  EXPECT_FALSE(rig.reader.consume(header));
  ASSERT_EQ(rig.reader.look(header), MessageRing::Look::record);
  EXPECT_EQ(header.immediate, 9U);
  EXPECT_FALSE(rig.reader.consume(header));
  EXPECT_EQ(rig.reader.look(header), MessageRing::Look::nothing);
}

TEST(MessageRing, TellsAWriterThatWaitsOfRoomOnce) {
  RingRig rig;
  RecordHeader header{.type = RecordType::send, .size = ring_size - MessageRing::alignment, .total = 1};
  rig.writer.publish(header);
  EXPECT_FALSE(rig.fits(0));
  rig.writer.want_room();
  ASSERT_EQ(rig.reader.look(header), MessageRing::Look::record);
  EXPECT_TRUE(rig.reader.consume(header));
  EXPECT_TRUE(rig.fits(ring_size - MessageRing::alignment));
  rig.writer.publish(header);
  EXPECT_FALSE(rig.reader.consume(header));
}

TEST(MessageRing, FindsNonsenseOfTheOtherSide) {
  RingRig rig;
  RecordHeader header;
  rig.state.written = ring_size + 1;
  EXPECT_EQ(rig.reader.look(header), MessageRing::Look::invalid) << "more than there can be";
  rig.state.written = 8;
  EXPECT_EQ(rig.reader.look(header), MessageRing::Look::invalid) << "less than a header";
  rig.state.written = 0;
  rig.writer.publish({.type = RecordType::send, .size = 5});
  const std::uint32_t huge = 0xfffffff0;
  std::memcpy(rig.bytes.data() + 4, &huge, sizeof huge);
  EXPECT_EQ(rig.reader.look(header), MessageRing::Look::invalid) << "a record longer than what was written";
  std::uint64_t room = 0;
  rig.state.read = 1;
  rig.state.read = rig.writer.payload_position() + 100;
  EXPECT_FALSE(rig.writer.room(room)) << "read more than was written";
}

/// Two threads that sleep whenever the protocol lets them: a lost wake-up is a time-out, a torn record a failure.
TEST(MessageRing, CarriesEverythingBetweenTwoSleepers) {
  constexpr std::uint64_t rounds = 20'000;
  constexpr std::uint32_t is_last = 1;
  RingRig rig;
  std::counting_semaphore<> room(0);
  std::counting_semaphore<> records(0);
  const auto soon = std::chrono::seconds(20);
  std::thread reader([&] {
    RecordHeader header;
    for (std::uint64_t i = 0; header.immediate != is_last;) {
      if (rig.reader.look(header) == MessageRing::Look::nothing) {
        ASSERT_TRUE(records.try_acquire_for(soon)) << i;
        continue;
      }
      ASSERT_EQ(header.total, i);
      for (std::uint64_t done = 0; done < header.size;) {
        const MessageRing::Run run = rig.reader.run_at(rig.reader.payload_position() + done, header.size - done);
        for (std::uint64_t byte = 0; byte < run.size; ++byte) {
          ASSERT_EQ(run.bytes[byte], static_cast<std::byte>(i));
        }
        done += run.size;
      }
      if (rig.reader.consume(header)) {
        room.release();
      }
      ++i;
    }
  });
  const StressTime time;
  bool over = false;
  for (std::uint64_t i = 0; !over; ++i) {
    over = i + 1 == rounds || time.over();
    const std::uint64_t length = i * 37 % 700;
    while (!rig.fits(length)) {
      rig.writer.want_room();
      if (!rig.fits(length)) {
        ASSERT_TRUE(room.try_acquire_for(soon)) << i;
      }
    }
    for (std::uint64_t done = 0; done < length;) {
      const MessageRing::Run run = rig.writer.run_at(rig.writer.payload_position() + done, length - done);
      std::memset(run.bytes, static_cast<int>(i & 0xff), run.size);
      done += run.size;
    }
    rig.writer.publish({.type = RecordType::send,
                        .size = static_cast<std::uint32_t>(length),
                        .total = i,
                        .immediate = over ? is_last : 0});
    records.release();
  }
  reader.join();
}

}  // namespace
}  // namespace pydoca::sim
