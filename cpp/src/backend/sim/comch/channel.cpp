#include "backend/sim/comch/channel.hpp"

#include "backend/sim/message/frame.hpp"
#include "backend/sim/message/peer_text.hpp"
#include "detail/clock.hpp"
#include "detail/concat.hpp"
#include "detail/thread/crash_point.hpp"
#include "detail/thread/thread_token.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <charconv>
#include <limits>
#include <new>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace pydoca::sim {
namespace {

using detail::concat;

/// The bytes that the kernel counts for a message that waits: a power of two with room for the kernel's own data, and a
/// header.
std::uint64_t kernel_footprint(std::uint32_t message) noexcept {
  constexpr std::uint64_t bookkeeping = 320;
  constexpr std::uint64_t header = 256;
  return std::bit_ceil(message + sizeof(FrameType) + bookkeeping) + header;
}

void require_text(std::string_view what, std::string_view text) {
  if (text.empty() || text.size() > max_hello_text || text.find('\0') != text.npos) {
    // The text up to a NUL: a message ends there.
    throw Error(Status::invalid_value, concat(what, " \"", text.substr(0, text.find('\0')), "\": it has ", text.size(),
                                              " characters; it must have 1..", max_hello_text, " and no NUL"));
  }
}

/// Why a hello is refused, for the peer's message; empty: it is not.
std::string objection(const Hello& hello, const ChannelIdentity& identity) {
  const auto differs = [](std::string_view what, std::string_view theirs, std::string_view ours) {
    return theirs == ours ? std::string() : concat(what, " \"", theirs, "\" was asked for, this is \"", ours, "\"");
  };
  std::string text = differs("fabric", hello.fabric, identity.fabric);
  text = text.empty() ? differs("function", hello.pci_addr, identity.pci_addr) : text;
  return text.empty() ? differs("service", hello.service, identity.service) : text;
}

}  // namespace

ChannelIdentity channel_identity(std::string_view fabric, std::string_view pci_addr, std::string_view service,
                                 const backend::ChannelOptions& options) {
  require_text("fabric", fabric);
  require_text("service name", service);
  require_text("PCI address", pci_addr);
  constexpr std::uint32_t limit = 1U << 20;  // a frame must fit into a socket's buffer
  if (options.max_msg_size == 0 || options.max_msg_size > limit || options.recv_queue_size == 0) {
    throw Error(Status::invalid_value,
                concat("a channel with messages of ", options.max_msg_size, " bytes and a queue of ",
                       options.recv_queue_size, " cannot be; 1..", limit, " bytes and 1 message"));
  }
  return {std::string(fabric), std::string(pci_addr), std::string(service), options};
}

std::string channel_key(const ChannelIdentity& identity) { return concat(identity.pci_addr, '\0', identity.service); }

SocketChannel::SocketChannel(detail::Fd socket, Role role, std::shared_ptr<const ChannelIdentity> identity) noexcept
    : socket_(std::move(socket)), role_(role), forks_(detail::fork_count()), identity_(std::move(identity)) {}

SocketChannel::SocketChannel(Status status, std::string_view reason)
    : role_(Role::client), opened_(status), forks_(detail::fork_count()), refusal_(reason) {}

SocketChannel::~SocketChannel() {
  // close() would not tell the peer while a forked child holds the socket open. Only the owner shuts it down.
  if (socket_ && forks_ == detail::fork_count()) {
    ::shutdown(socket_.get(), SHUT_RDWR);
  }
}

Status SocketChannel::establish() noexcept {
  if (opened_ != Status::again) {
    return opened_;
  }
  try {
    opened_ = open();
  } catch (const std::bad_alloc&) {
    opened_ = Status::no_memory;
  }
  return opened_;
}

Status SocketChannel::open() {
  switch (role_) {
    case Role::client:
      return take_answer();
    case Role::server:
      return take_hello();
    default:
      return answer(Status::full, "the server has as many clients as it takes");
  }
}

Status SocketChannel::take_answer() {
  HelloFrame frame;
  std::size_t length = 0;
  Status status = receive_frame(socket_.get(), FrameType::answer, frame, length);
  if (status == Status::again || status == Status::connection_reset) {
    return status;
  }
  Answer answer;
  if (status == Status::success) {
    status = decode(std::span(frame).first(length), answer);
  }
  if (status != Status::success) {
    return refused(status, "the server's answer is not understood");
  }
  if (answer.status != Status::success) {
    return refused(answer.status, peer_text(answer.reason));
  }
  agree(answer.options);
  std::from_chars(answer.reason.data(), answer.reason.data() + answer.reason.size(), id_, 16);
  return Status::success;
}

Status SocketChannel::take_hello() {
  HelloFrame frame;
  std::size_t length = 0;
  Status status = receive_frame(socket_.get(), FrameType::hello, frame, length);
  if (status == Status::again || status == Status::connection_reset) {
    return status;
  }
  Hello hello;
  if (status == Status::success) {
    status = decode(std::span(frame).first(length), hello);
  }
  if (status != Status::success) {
    return answer(status, concat("the client's hello is not understood; this server speaks version ", channel_version));
  }
  const std::string problem = objection(hello, *identity_);
  if (!problem.empty()) {
    return answer(Status::not_found, peer_text(problem));
  }
  agree(hello.options);
  return admit();
}

/// A success needs no reason. The channel's id, which a client may ignore, takes its place.
Status SocketChannel::admit() {
  static std::atomic<std::uint64_t> last{0};
  const std::uint64_t number = (last.fetch_add(1, std::memory_order_relaxed) + 1) << 32U;
  id_ = (number | static_cast<std::uint32_t>(::getpid())) ^ detail::nanoseconds_of(CLOCK_MONOTONIC) << 40U;
  std::array<char, 16> digits{};
  const char* const end = std::to_chars(digits.data(), digits.data() + digits.size(), id_, 16).ptr;
  return answer(Status::success, {digits.data(), static_cast<std::size_t>(end - digits.data())});
}

Status SocketChannel::answer(Status status, std::string_view reason) {
  HelloFrame frame;
  const auto bytes = encode(Answer{status, identity_->options, reason}, frame);
  // The socket's buffer is empty: this is the first thing that is sent.
  detail::crash_point();
  const Status sent = send_frame(socket_.get(), FrameType::answer, bytes);
  detail::crash_point();
  if (status != Status::success) {
    return refused(status, reason);
  }
  return sent == Status::again ? Status::connection_reset : sent;
}

Status SocketChannel::refused(Status status, std::string_view reason) {
  refusal_ = reason;
  return status;
}

void SocketChannel::agree(const backend::ChannelOptions& peer) noexcept {
  max_msg_size_ = std::min(identity_->options.max_msg_size, peer.max_msg_size);
  // The kernel doubles what it is asked for.
  const std::uint64_t size = kernel_footprint(max_msg_size_) * peer.recv_queue_size / 2;
  const int limit = static_cast<int>(std::min<std::uint64_t>(size, std::numeric_limits<int>::max() / 2));
  ::setsockopt(socket_.get(), SOL_SOCKET, SO_SNDBUF, &limit, sizeof limit);
}

Status SocketChannel::send(std::span<const std::byte> message) noexcept {
  if (message.size() > max_msg_size_) {
    return Status::invalid_value;
  }
  detail::crash_point();
  if (--sends_until_question_ == 0) [[unlikely]] {
    say_where_again();
  }
  return send_frame(socket_.get(), FrameType::message, message, own_cpus_);
}

/// A thread that never sleeps may have been moved.
void SocketChannel::say_where_again() noexcept {
  sends_until_question_ = sends_between_questions;
  own_cpus_ = ask_own_cpus();
}

Status SocketChannel::receive(std::span<std::byte> buffer, std::size_t& length) noexcept {
  detail::crash_point();
  return receive_message_frame(socket_.get(), buffer.first(std::min<std::size_t>(buffer.size(), max_msg_size_)), length,
                               peer_cpus_);
}

}  // namespace pydoca::sim
