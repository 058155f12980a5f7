#pragma once

#include "pydoca/cpus.hpp"
#include "pydoca/status.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace pydoca::backend {

struct ChannelOptions {
  std::uint32_t max_msg_size = 0;     ///< bytes
  std::uint32_t recv_queue_size = 0;  ///< messages that may wait at the receiver
  std::uint32_t send_queue_size = 0;  ///< messages that this side may have in the queue
};

/// A reliable, ordered stream of messages between a client and a server. Belongs to one thread; no call blocks.
class Channel {
 public:
  virtual ~Channel() = default;

  /// Pollable. Readable: receive() or establish() may advance. Writable: send() may be tried again.
  virtual int fd() const noexcept = 0;
  /// Advances the opening exchange. again: the peer has not answered. success: messages can flow. Anything else is
  /// final (connection_aborted: refused), and refusal() says why.
  virtual Status establish() noexcept = 0;
  /// What the server said when it refused; empty when it did not. Valid while the channel lives.
  virtual std::string_view refusal() const noexcept = 0;
  /// Copies the message. again: give it again, before any other, once fd() is writable. connection_reset: the peer is
  /// gone.
  virtual Status send(std::span<const std::byte> message) noexcept = 0;
  /// A message of that length waits behind those for which send() answers again: where messages take time, its time
  /// begins. False: the queue has as many as it takes.
  virtual bool announce(std::size_t /*length*/) noexcept { return true; }
  /// The message whose turn it is will not be sent.
  virtual void skip() noexcept {}
  /// What the caller waits for, at first for messages. True: from now on fd() is readable when that has come, or when
  /// send() may be tried again for another reason. False: the caller chooses among the events of fd() itself.
  virtual bool expect(bool /*messages*/, bool /*room*/) noexcept { return false; }
  /// After a failed send(): the number, from 1, of the rule of a fault plan that has failed it, or 0.
  virtual std::uint32_t failed_by() const noexcept { return 0; }
  /// buffer holds max_msg_size() bytes; length receives those of the message. again: there is none. connection_reset:
  /// the peer is gone and everything that it sent was received.
  virtual Status receive(std::span<std::byte> buffer, std::size_t& length) noexcept = 0;
  /// Whether the peer may send while a thread on here, the caller's CPUs, is busy.
  virtual bool may_advance_elsewhere(Cpus /*here*/) noexcept { return true; }
  /// Bytes: the smaller of both sides' limits, once established.
  virtual std::uint32_t max_msg_size() const noexcept = 0;
  /// The same number at both ends, once established, and hardly that of another channel; 0: there is none. Traces show
  /// it.
  virtual std::uint64_t id() const noexcept { return 0; }
};

/// A server's place in the fabric. Destroying it ends the listening, not the channels that it gave.
class Listener {
 public:
  virtual ~Listener() = default;
  /// Readable when accept() would give a channel.
  virtual int fd() const noexcept = 0;
  /// The next incoming channel, not yet established, or null. admit: whether there is room for another client; when
  /// there is not, the channel's establish() refuses the peer with status full.
  virtual std::unique_ptr<Channel> accept(bool admit) noexcept = 0;
};

/// Finds a server, which may start later.
class Dialer {
 public:
  virtual ~Dialer() = default;
  /// Readable when another attempt() may succeed.
  virtual int fd() const noexcept = 0;
  /// Gives a channel to establish; null means that there is no server yet.
  virtual std::unique_ptr<Channel> attempt() noexcept = 0;
  /// Where it looks, and how a server may be elsewhere: a clause for a message of a client that waits.
  virtual std::string where() const = 0;
};

}  // namespace pydoca::backend
