#pragma once

#include "detail/thread/atomic.hpp"
#include "detail/thread/crash_point.hpp"
#include "detail/time/turn_point.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace pydoca::sim {

/// What a record between two queue pairs carries. A long message takes several records.
enum class RecordType : std::uint32_t {
  send = 1,
  send_imm = 2,
  write_imm = 3,  ///< no data: it was written to its place
  more = 4,       ///< a further piece of the message before
  too_long = 5,   ///< a message that does not fit its receive
};

struct RecordHeader {
  RecordType type = RecordType::send;
  std::uint32_t size = 0;       ///< bytes that follow
  std::uint64_t receive = 0;    ///< number of the receive that the message takes
  std::uint64_t total = 0;      ///< bytes of the whole message
  std::uint32_t immediate = 0;  ///< big-endian
  std::uint32_t message = 0;    ///< its number in the sender's trace; 0: none
};

/// One writer, one reader, in memory that both map. Positions count bytes for ever. Each side trusts its own position
/// only. A position of the other side that is impossible breaks the rules and ends the connection.
struct MessageRingState {
  alignas(64) detail::Atomic<std::uint64_t> written{0};
  alignas(64) detail::Atomic<std::uint64_t> read{0};
  detail::Atomic<std::uint32_t> writer_waits{0};  ///< 1: wants to be told of room
};

class MessageRing {
 public:
  static constexpr std::uint64_t alignment = sizeof(RecordHeader);
  struct Run {
    std::byte* bytes = nullptr;
    std::uint64_t size = 0;
  };

  MessageRing() = default;
  /// size: a power of 2 and a multiple of alignment.
  MessageRing(MessageRingState& state, std::byte* bytes, std::uint64_t size) noexcept
      : state_(&state), bytes_(bytes), size_(size) {}

  static constexpr std::uint64_t footprint(std::uint64_t payload) noexcept {
    return sizeof(RecordHeader) + (payload + alignment - 1) / alignment * alignment;
  }
  std::uint64_t size() const noexcept { return size_; }
  /// The contiguous bytes from a position on, at most count.
  Run run_at(std::uint64_t position, std::uint64_t count) const noexcept {
    const std::uint64_t offset = position & (size_ - 1);
    return {bytes_ + offset, std::min(count, size_ - offset)};
  }

  // The writer.
  /// Bytes that records may take now, headers and all; false: the reader broke the rules.
  bool room(std::uint64_t& bytes) const noexcept {
    const std::uint64_t used = position_ - state_->read.load(std::memory_order_seq_cst);
    bytes = size_ - std::min(used, size_);
    return used <= size_;
  }
  /// Where the payload of the next record goes.
  std::uint64_t payload_position() const noexcept { return position_ + sizeof(RecordHeader); }
  /// The payload is in its place.
  void publish(const RecordHeader& header) noexcept {
    if (detail::is_planted(detail::Mistake::flag_before_payload)) [[unlikely]] {
      state_->written.store(position_ + footprint(header.size), std::memory_order_seq_cst);
      detail::turn_point();
    }
    std::memcpy(run_at(position_, sizeof header).bytes, &header, sizeof header);
    position_ += footprint(header.size);
    detail::crash_point();
    detail::turn_point();
    state_->written.store(position_, std::memory_order_seq_cst);
  }
  /// The reader will say so when it has made room. Then room() must be asked again.
  void want_room() noexcept { state_->writer_waits.store(1, std::memory_order_seq_cst); }

  // The reader.
  enum class Look : std::uint8_t { nothing, record, invalid };
  /// A copy of the next record's header, which the writer cannot change any more.
  Look look(RecordHeader& header) const noexcept {
    const std::uint64_t there = state_->written.load(std::memory_order_seq_cst) - position_;
    if (there == 0) {
      return Look::nothing;
    }
    if (there > size_ || there < sizeof header) {
      return Look::invalid;
    }
    std::memcpy(&header, run_at(position_, sizeof header).bytes, sizeof header);
    std::atomic_signal_fence(std::memory_order_seq_cst);  // no field is read from the ring again
    return footprint(header.size) <= there ? Look::record : Look::invalid;
  }
  /// The record was taken. True when the writer waits and must be told.
  bool consume(const RecordHeader& header) noexcept {
    position_ += footprint(header.size);
    detail::crash_point();
    detail::turn_point();
    const bool twice = detail::is_planted(detail::Mistake::credit_counted_twice);
    state_->read.store(position_ + (twice ? footprint(header.size) : 0), std::memory_order_seq_cst);
    return state_->writer_waits.load(std::memory_order_seq_cst) != 0 &&
           state_->writer_waits.exchange(0, std::memory_order_seq_cst) != 0;
  }

 private:
  MessageRingState* state_ = nullptr;
  std::byte* bytes_ = nullptr;
  std::uint64_t size_ = 0;
  std::uint64_t position_ = 0;  ///< this side's
};

static_assert(sizeof(RecordHeader) == 32 && std::is_trivially_copyable_v<RecordHeader>);

}  // namespace pydoca::sim
