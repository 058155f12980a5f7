/// How a queue pair sends messages to its peer's inbox.

#include "pydoca/device_properties.hpp"

#include "backend/sim/copy/segment_copy.hpp"
#include "backend/sim/rdma/queue_pair.hpp"
#include "detail/time/turn_point.hpp"

#include <algorithm>

namespace pydoca::sim {

using backend::RdmaOpcode;
using backend::RdmaOperation;

namespace {

/// Less than this is not worth a record while more waits.
constexpr std::uint64_t smallest_piece = 4096;
/// The time between two offers of a message to a peer without a receive.
constexpr std::uint64_t retry_interval_ns = 10'000'000;

bool is_message(RdmaOpcode opcode) noexcept { return opcode == RdmaOpcode::send || opcode == RdmaOpcode::send_imm; }

RecordType record_of(RdmaOpcode opcode) noexcept {
  switch (opcode) {
    case RdmaOpcode::send_imm:
      return RecordType::send_imm;
    case RdmaOpcode::write_imm:
      return RecordType::write_imm;
    default:
      return RecordType::send;
  }
}

}  // namespace

RecordHeader QueuePair::header_of(const RdmaOperation& operation, RecordType type) noexcept {
  return {.type = type,
          .receive = operation.own[receive_word] - 1,
          .total = operation.length,
          .immediate = operation.immediate,
          .message = operation.message};
}

Status QueuePair::send(RdmaOperation& operation) noexcept {
  const RdmaCapabilities& limits = *shared_.place().capabilities().rdma;
  if (is_message(operation.opcode) &&
      (operation.length > limits.max_message_size ||
       !can_gather(operation.local, operation.length, ordinal(), shared_.options().max_send_segments))) {
    return Status::io_failed;
  }
  if (!peer_->revocation_page().enter()) {
    return Status::connection_reset;
  }
  const Status status = send_inside(operation);
  peer_->revocation_page().leave();
  if (status != Status::again) {
    peer_->tell();
  }
  return status;
}

Status QueuePair::send_inside(RdmaOperation& operation) noexcept {
  if (operation.own[receive_word] == 0) {
    const Status status = take_receive(operation);
    if (status != Status::success) {
      return status;
    }
  }
  return operation.opcode == RdmaOpcode::write_imm ? write_then_tell(operation) : send_pieces(operation);
}

Status QueuePair::take_receive(RdmaOperation& operation) noexcept {
  InboxDoorbell& doorbell = peer_->page().doorbell;
  if (wants_receive_ && !doorbell.may_take()) [[unlikely]] {
    return wait_for_receive();
  }
  const auto taken = peer_->receives().take(peer_->number());
  wants_receive_ = !taken.has_value();
  if (wants_receive_) {
    doorbell.want_receive();
    return wait_for_receive();
  }
  deadline_ = detail::never;
  operation.own[receive_word] = taken->number + 1;
  if (is_message(operation.opcode) && operation.length > taken->room &&
      operation.length > peer_->page().shortest_receive.load(std::memory_order_relaxed)) {
    operation.own[offset_word] = operation.length;  // only the record that says so is sent
  }
  return Status::success;
}

Status QueuePair::wait_for_receive() noexcept {
  peer_->tell();
  if (shared_.options().rnr_retry_count >= backend::rnr_retry_for_ever) {
    return Status::again;
  }
  const std::uint64_t now = detail::now();
  if (deadline_ == detail::never) {
    deadline_ = now + (shared_.options().rnr_retry_count + 1) * retry_interval_ns;
  }
  if (now >= deadline_) {
    return Status::time_out;
  }
  shared_.watch_deadline(deadline_);
  return Status::again;
}

/// Sets room to the bytes that are free. again: less than size; the peer tells when it has made room.
Status QueuePair::reserve(std::uint64_t size, std::uint64_t& room) noexcept {
  MessageRing& ring = peer_->ring();
  bool sound = ring.room(room);
  if (sound && room < size) {
    ring.want_room();
    sound = ring.room(room);
  }
  if (!sound) {
    return Status::connection_reset;  // the peer's position is impossible: it broke the rules
  }
  return room < size ? Status::again : Status::success;
}

/// Copies the next bytes of a message to the place of the next record's payload.
Status QueuePair::fill(const RdmaOperation& operation, std::uint64_t size) noexcept {
  MessageRing& ring = peer_->ring();
  Status status = Status::success;
  for (std::uint64_t done = 0; done < size && status == Status::success;) {
    const MessageRing::Run run = ring.run_at(ring.payload_position() + done, size - done);
    const Bytes bytes(run.bytes, run.size);
    status = gather(operation.local, ordinal(), operation.own[offset_word] + done, bytes, bytes.addr(), run.size);
    done += run.size;
  }
  return status;
}

/// Sends as many bytes of a message as there is room for.
Status QueuePair::send_pieces(RdmaOperation& operation) noexcept {
  std::uint64_t& offset = operation.own[offset_word];
  for (;;) {
    const std::uint64_t left = operation.length - offset;
    std::uint64_t room = 0;
    Status status = reserve(MessageRing::footprint(std::min(left, smallest_piece)), room);
    if (status != Status::success) {
      return status;
    }
    const bool too_long = left == 0 && operation.length != 0;
    RecordHeader header = header_of(operation, offset != 0 ? RecordType::more : record_of(operation.opcode));
    header.size = static_cast<std::uint32_t>(std::min(left, room - sizeof header));
    status = too_long ? Status::io_failed : fill(operation, header.size);
    if (status != Status::success) {
      peer_->ring().publish(header_of(operation, RecordType::too_long));
      return Status::io_failed;
    }
    peer_->ring().publish(header);
    offset += header.size;
    if (offset == operation.length) {
      return Status::success;
    }
    peer_->tell();
  }
}

Status QueuePair::write_then_tell(RdmaOperation& operation) noexcept {
  std::uint64_t room = 0;
  Status status = reserve(sizeof(RecordHeader), room);
  if (status != Status::success) {
    return status;
  }
  if (detail::is_planted(detail::Mistake::ack_before_data)) [[unlikely]] {
    peer_->ring().publish(header_of(operation, RecordType::write_imm));
    peer_->tell();
    detail::turn_point();
    return move(operation);
  }
  status = move(operation);
  if (status != Status::again) {
    const bool placed = status == Status::success;
    peer_->ring().publish(header_of(operation, placed ? RecordType::write_imm : RecordType::too_long));
  }
  return status;
}

}  // namespace pydoca::sim
