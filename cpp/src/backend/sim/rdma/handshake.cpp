#include "backend/sim/rdma/handshake.hpp"

#include "pydoca/status.hpp"

#include "backend/sim/message/frame.hpp"
#include "detail/concat.hpp"
#include "detail/thread/crash_point.hpp"

#include <algorithm>
#include <utility>

namespace pydoca::sim {

namespace {

using Step = HandshakeMessage::Step;

// RDMA-CM has the same limits.
constexpr std::size_t max_request_data = 56;
constexpr std::size_t max_answer_data = 196;

HandshakeMessage message_with(std::span<const std::byte> private_data, std::size_t limit, Step step) {
  if (private_data.size() > limit) {
    throw Error(Status::invalid_value,
                detail::concat("private data: ", private_data.size(), " bytes; ", limit, " at most can be sent here"));
  }
  HandshakeMessage message{.step = step};
  std::ranges::copy(private_data, message.private_data.begin());
  message.private_data_len = static_cast<std::uint32_t>(private_data.size());
  return message;
}

}  // namespace

HandshakeMessage request_with(std::span<const std::byte> private_data) {
  return message_with(private_data, max_request_data, Step::request);
}

HandshakeMessage answer_with(std::span<const std::byte> private_data) {
  return message_with(private_data, max_answer_data, Step::answer);
}

Status receive_message(int socket, Step step, HandshakeMessage& message) noexcept {
  std::size_t length = 0;
  const Status status =
      receive_frame(socket, FrameType::handshake, std::as_writable_bytes(std::span(&message, 1)), length);
  if (status != Status::success) {
    return status;
  }
  const bool sound = length == sizeof message && message.protocol == HandshakeMessage::protocol_number &&
                     step != Step::none && message.step == step &&
                     static_cast<std::uint32_t>(message.status) < status_count;
  return sound ? Status::success : Status::connection_aborted;
}

Handshake::Handshake(std::size_t& num_open, detail::Fd socket) noexcept
    : num_open_(num_open), socket_(std::move(socket)), role_(Role::answerer) {
  ++num_open_;
}

Handshake::Handshake(std::size_t& num_open, const Address& listener, const HandshakeMessage& request)
    : num_open_(num_open), role_(Role::requester), listener_(listener), request_(request) {
  ++num_open_;
}

Status Handshake::connect() noexcept {
  Status status = Status::success;
  socket_ = connect_to(*listener_, status);
  if (!socket_) {
    return status;
  }
  detail::crash_point();
  status = send(request_);
  detail::crash_point();
  return status == Status::connection_reset ? Status::success : status;  // receive() tells, and perhaps why
}

Handshake::~Handshake() {
  if (role_ == Role::answerer && !has_answered_) {
    reject();
  }
  --num_open_;
}

Status Handshake::send(const HandshakeMessage& message) noexcept {
  return send_frame(socket_.get(), FrameType::handshake, std::as_bytes(std::span(&message, 1)));
}

Status Handshake::receive(HandshakeMessage& message) noexcept {
  Step expected = Step::none;
  if (role_ == Role::requester && phase_ == Phase::begun) {
    expected = Step::answer;
  } else if (role_ == Role::answerer && phase_ == Phase::answered) {
    expected = Step::ready;
  }
  return receive_message(fd(), expected, message);
}

void Handshake::begin_import(std::shared_ptr<OwnerAnswer> import) noexcept {
  import_ = std::move(import);
  phase_ = Phase::importing;
}

void Handshake::end_import() noexcept {
  import_.reset();
  phase_ = Phase::begun;
}

void Handshake::accept() {
  has_answered_ = true;
  phase_ = Phase::answered;
  if (send(answer_) != Status::success) {
    throw Error(Status::connection_aborted, "accept: the peer has gone");
  }
}

void Handshake::reject() noexcept {
  has_answered_ = true;
  const HandshakeMessage answer{.step = Step::answer, .status = Status::connection_aborted};
  static_cast<void>(send(answer));
}

}  // namespace pydoca::sim
