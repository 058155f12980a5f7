/// How a queue pair receives the messages of its peer.

#include "backend/sim/copy/segment_copy.hpp"
#include "backend/sim/rdma/queue_pair.hpp"

#include <algorithm>
#include <utility>

namespace pydoca::sim {

using backend::RdmaOperation;

void QueuePair::attend() noexcept {
  if (!has_link()) {
    return;
  }
  look_for_peer();
  const bool gone = peer_->is_gone();  // asked first: then all that the peer sent is in the inbox
  InboxDoorbell& doorbell = inbox_.page().doorbell;
  const bool wants = doorbell.begin_want();  // asked before the records: it has sent what it took
  const bool took_all = take_records();
  if (wants) [[unlikely]] {
    took_all ? shared_.receives().tell_of_next(number_, doorbell) : doorbell.keep_want();
  }
  run();
  if (gone) {
    lose(Status::connection_reset);
  } else if (shared_.place().removed()) {
    lose(Status::driver);
  }
}

/// Whether no record is left, and the connection goes on.
bool QueuePair::take_records() noexcept {
  RecordHeader header;
  bool was_full = false;
  bool took_all = false;
  // A peer that writes all the time must not keep the engine here.
  std::uint64_t left = inbox_.ring().size();
  while (phase_ == Phase::connected) {
    if (left == 0) {
      shared_.attend_again(number_);
      break;
    }
    const MessageRing::Look look = inbox_.ring().look(header);
    if (look == MessageRing::Look::nothing) {
      took_all = true;
      break;
    }
    const Status status = look == MessageRing::Look::record ? take_record(header) : Status::unexpected;
    if (status == Status::again) {
      break;
    }
    if (status != Status::success) {
      lose(status);
      break;
    }
    left -= std::min(left, MessageRing::footprint(header.size));
    was_full = inbox_.ring().consume(header) || was_full;
  }
  if (was_full) {
    tell_peer();
  }
  return took_all;
}

/// success; io_failed: the message fails at both ends; unexpected: a peer that breaks the rules; again: another has
/// used up the receive that the message was sent to, and there is none in its place.
Status QueuePair::take_record(const RecordHeader& header) noexcept {
  if (header.type == RecordType::more) {
    return incoming_.receive != nullptr ? take_payload(header) : Status::unexpected;
  }
  if (header.type == RecordType::too_long && incoming_.receive != nullptr) {
    finish_receive(Status::io_failed);
    return Status::io_failed;
  }
  const Status status = begin_message(header);
  return status == Status::success ? take_payload(header) : status;
}

Status QueuePair::begin_message(const RecordHeader& header) noexcept {
  if (incoming_.receive != nullptr || header.type < RecordType::send || header.type > RecordType::too_long) {
    return Status::unexpected;
  }
  incoming_ = {.first = header, .received = 0};
  RdmaOperation* const receive = shared_.receives().take(incoming_.first.receive, number_);
  if (receive == nullptr) {
    return Status::again;
  }
  incoming_.receive = receive;
  const bool placed = header.type == RecordType::write_imm;
  const std::uint64_t room = receive->length;
  if (header.type == RecordType::too_long ||
      (!placed && (header.total > room ||
                   !can_scatter(receive->local, header.total, ordinal(), shared_.options().max_recv_segments)))) {
    finish_receive(Status::io_failed);
    return Status::io_failed;
  }
  return Status::success;
}

Status QueuePair::take_payload(const RecordHeader& header) noexcept {
  const bool placed = incoming_.first.type == RecordType::write_imm;
  if (placed ? header.size != 0 : header.size > incoming_.first.total - incoming_.received) {
    return Status::unexpected;
  }
  // Until the record is consumed, the ring's position is that of its header.
  for (std::uint64_t done = 0; done < header.size;) {
    const MessageRing::Run run = inbox_.ring().run_at(inbox_.ring().payload_position() + done, header.size - done);
    const Bytes bytes(run.bytes, run.size);
    const Status status =
        scatter(bytes, bytes.addr(), incoming_.receive->local, ordinal(), incoming_.received + done, run.size);
    if (status != Status::success) {
      finish_receive(Status::io_failed);
      return Status::io_failed;
    }
    done += run.size;
  }
  incoming_.received += header.size;
  if (placed || incoming_.received == incoming_.first.total) {
    finish_receive(Status::success);
  }
  return Status::success;
}

void QueuePair::finish_receive(Status status) noexcept {
  RdmaOperation& receive = *std::exchange(incoming_.receive, nullptr);
  receive.length = incoming_.first.total;
  const auto [immediate, message] = std::pair(incoming_.first.immediate, incoming_.first.message);
  receive.immediate = immediate;
  receive.message = message;
  receive.queue_pair = this;
  receive.received_as = incoming_.first.type == RecordType::write_imm  ? backend::ReceivedAs::write_with_imm
                        : incoming_.first.type == RecordType::send_imm ? backend::ReceivedAs::send_with_imm
                                                                       : backend::ReceivedAs::send;
  shared_.receives().retire(incoming_.first.receive);
  shared_.finish(receive, status);
}

}  // namespace pydoca::sim
