#include "backend/sim/memory/import_protocol.hpp"
#include "backend/sim/message/fd_message.hpp"
#include "backend/sim/message/frame.hpp"
#include "backend/sim/rdma/handshake.hpp"
#include "detail/fd.hpp"
#include "fuzz/targets/sim_targets.hpp"

#include <array>
#include <cstring>
#include <fcntl.h>
#include <sys/socket.h>

namespace pydoca::fuzz {

namespace {

enum class Reader : std::uint8_t { frame, handshake, request, reply, word_change, count };

/// The lowest number that a new descriptor gets: the same before and after, when no descriptor stayed.
int next_descriptor(int any) {
  const detail::Fd probe(::fcntl(any, F_DUPFD_CLOEXEC, 0));
  return probe.get();
}

struct Sockets {
  std::array<detail::Fd, 2> ends;

  Sockets() {
    std::array<int, 2> fds{-1, -1};
    require(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds.data()) == 0, "socketpair");
    ends = {detail::Fd(fds[0]), detail::Fd(fds[1])};
  }

  void send(std::span<const std::byte> bytes, std::size_t num_fds) const {
    constexpr std::size_t most = 16;
    std::array<int, most> fds;
    fds.fill(ends[0].get());
    num_fds = std::min(num_fds, most);
    iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
    alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof fds)> control{};
    msghdr packet{};
    packet.msg_iov = &part;
    packet.msg_iovlen = 1;
    if (num_fds != 0) {
      packet.msg_control = control.data();
      packet.msg_controllen = CMSG_SPACE(num_fds * sizeof(int));
      cmsghdr* const header = CMSG_FIRSTHDR(&packet);
      *header = {.cmsg_len = CMSG_LEN(num_fds * sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
      std::memcpy(CMSG_DATA(header), fds.data(), num_fds * sizeof(int));
    }
    static_cast<void>(::sendmsg(ends[0].get(), &packet, MSG_NOSIGNAL));
  }
};

template <class Message>
void receive_as(int socket) {
  Message message;
  sim::ReceivedFds fds;
  const Status status = sim::receive_message(socket, std::as_writable_bytes(std::span(&message, 1)), fds);
  require(status == Status::success || fds.count == 0, "a message that is refused leaves no descriptor");
}

Status receive_frame_as(int socket, std::uint8_t parameter, std::span<std::byte> payload, std::size_t& length) {
  Cpus sender;
  return parameter < 128 ? sim::receive_frame(socket, static_cast<sim::FrameType>(parameter % 6), payload, length)
                         : sim::receive_message_frame(socket, payload, length, sender);
}

void receive(Reader reader, int socket, std::uint8_t parameter) {
  std::array<std::byte, 512> payload;
  std::size_t length = 0;
  sim::HandshakeMessage message;
  switch (reader) {
    case Reader::frame:
      if (receive_frame_as(socket, parameter, payload, length) == Status::success) {
        require(length <= payload.size(), "a frame that is taken fits");
      }
      return;
    case Reader::handshake:
      static_cast<void>(sim::receive_message(socket, static_cast<sim::HandshakeMessage::Step>(parameter % 5), message));
      return;
    case Reader::request:
      return receive_as<sim::ImportRequest>(socket);
    case Reader::reply:
      return receive_as<sim::ImportReply>(socket);
    default:
      return receive_as<sim::WordChange>(socket);
  }
}

}  // namespace

void run_packet(std::span<const std::byte> input) {
  Input parts(input);
  const auto reader = static_cast<Reader>(parts.number<std::uint8_t>() % static_cast<std::uint8_t>(Reader::count));
  const auto parameter = parts.number<std::uint8_t>();
  const std::size_t num_fds = parts.number<std::uint8_t>() % 20;
  const Sockets sockets;
  const int before = next_descriptor(sockets.ends[0].get());
  sockets.send(parts.rest(), num_fds);
  receive(reader, sockets.ends[1].get(), parameter);
  require(next_descriptor(sockets.ends[0].get()) == before, "no descriptor stays");
}

std::vector<Bytes> packet_seeds() {
  std::vector<Bytes> seeds;
  const auto add = [&](Reader reader, std::uint8_t parameter, std::uint8_t num_fds, const Bytes& message) {
    Bytes seed{static_cast<std::byte>(reader), static_cast<std::byte>(parameter), static_cast<std::byte>(num_fds)};
    seed.insert(seed.end(), message.begin(), message.end());
    seeds.push_back(std::move(seed));
  };
  add(Reader::frame, 3, 0, bytes_of(std::array<std::uint32_t, 4>{3, 1, 2, 3}));
  Bytes handshake = bytes_of(sim::FrameType::handshake);
  const Bytes request = bytes_of(sim::HandshakeMessage{});
  handshake.insert(handshake.end(), request.begin(), request.end());
  add(Reader::handshake, 1, 0, handshake);
  add(Reader::request, 0, 0, bytes_of(sim::ImportRequest{}));
  add(Reader::reply, 0, 2, bytes_of(sim::ImportReply{}));
  add(Reader::word_change, 0, 0, bytes_of(sim::WordChange{}));
  return seeds;
}

}  // namespace pydoca::fuzz
