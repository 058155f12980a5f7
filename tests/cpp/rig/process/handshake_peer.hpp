#pragma once

#include "pydoca/device.hpp"
#include "pydoca/device_properties.hpp"
#include "pydoca/rdma.hpp"
#include "pydoca/sim.hpp"

#include "backend/sim/fabric/fabric.hpp"
#include "backend/sim/message/frame.hpp"
#include "backend/sim/rdma/connection_manager.hpp"
#include "backend/sim/rdma/handshake.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace pydoca {

/// The other end of an RDMA connection by address, which sends anything at any time.
class HandshakePeer {
 public:
  /// A requester. Not connected when no context listens there.
  explicit HandshakePeer(const sim::Address& listener) {
    Status status = Status::success;
    socket_ = sim::connect_to(listener, status);
  }
  /// A listener's end of a requester's socket; not connected when there is no requester.
  explicit HandshakePeer(int listener) {
    Status status = Status::success;
    socket_ = sim::accept_peer(listener, status);
  }

  bool is_connected() const noexcept { return static_cast<bool>(socket_); }
  void send(const sim::HandshakeMessage& message, std::size_t size = sizeof(sim::HandshakeMessage),
            sim::FrameType type = sim::FrameType::handshake) const noexcept {
    if (is_connected()) {
      static_cast<void>(send_frame(socket_.get(), type, std::as_bytes(std::span(&message, 1)).first(size)));
    }
  }
  /// The next message of the context; none: there is none, or the context has closed the connection.
  std::optional<sim::HandshakeMessage> receive() const noexcept {
    std::optional<sim::HandshakeMessage> message(std::in_place);
    std::size_t length = 0;
    const auto bytes = std::as_writable_bytes(std::span(&*message, 1));
    if (!is_connected() || receive_frame(socket_.get(), sim::FrameType::handshake, bytes, length) != Status::success) {
      message.reset();
    }
    return message;
  }
  void close() noexcept { socket_.reset(); }

 private:
  detail::Fd socket_;
};

/// An address by which every context on the device can be reached, and the socket of one that listens there.
inline RdmaAddress gid_address(const Device& device, std::uint16_t port) {
  return {RdmaAddressType::gid, device.info().capabilities().rdma->gids.at(0), port};
}
inline sim::Address listener_address(const Device& device, std::uint16_t port) {
  return sim::rdma_address(sim::fabric(), gid_address(device, port).raw(), port);
}

/// A message of that step with the details of a queue pair.
inline sim::HandshakeMessage handshake_message(sim::HandshakeMessage::Step step, std::span<const std::byte> details) {
  sim::HandshakeMessage message{.step = step};
  std::copy_n(details.begin(), std::min(details.size(), message.blob.size()), message.blob.begin());
  return message;
}

}  // namespace pydoca
