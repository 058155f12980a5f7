/// Every state of a comch connection × every packet of a peer: only what the state expects goes on, the other packets
/// end that connection, and the next peer is served.

#include "backend/sim/comch/channel.hpp"
#include "backend/sim/fabric/fabric.hpp"
#include "backend/sim/message/fd_message.hpp"
#include "backend/sim/message/frame.hpp"
#include "rig/cell_name.hpp"
#include "rig/library/comch_rig.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <sys/socket.h>
#include <tuple>
#include <vector>

namespace pydoca::comch {
namespace {

using sim::FrameType;

constexpr std::size_t longest = 64;

enum class At : std::uint8_t {
  called,    ///< a server: the peer has connected
  serving,   ///< a server: the peer is its client
  asking,    ///< a client: it has sent its hello
  connected  ///< a client: the peer is its server
};
constexpr std::array all_states{At::called, At::serving, At::asking, At::connected};
constexpr std::array names_of_states{"Called", "Serving", "Asking", "Connected"};

enum class Sent : std::uint8_t {
  hello,
  hello_to_another,
  hello_of_another_version,
  answer,
  refusal,
  unknown_status,
  garbage_answer,
  message,
  empty_message,
  longest_message,
  too_long_message,
  handshake,
  unknown_type,
  half_a_head,
  with_descriptor,
  nothing,
  end,
};
constexpr std::array all_sent{Sent::hello,
                              Sent::hello_to_another,
                              Sent::hello_of_another_version,
                              Sent::answer,
                              Sent::refusal,
                              Sent::unknown_status,
                              Sent::garbage_answer,
                              Sent::message,
                              Sent::empty_message,
                              Sent::longest_message,
                              Sent::too_long_message,
                              Sent::handshake,
                              Sent::unknown_type,
                              Sent::half_a_head,
                              Sent::with_descriptor,
                              Sent::nothing,
                              Sent::end};
constexpr std::array names_of_sent{"Hello",        "HelloToAnother", "HelloOfAnotherVersion", "Answer",
                                   "Refusal",      "UnknownStatus",  "GarbageAnswer",         "Message",
                                   "EmptyMessage", "LongestMessage", "TooLongMessage",        "Handshake",
                                   "UnknownType",  "HalfAHead",      "WithDescriptor",        "Nothing",
                                   "End"};

/// What becomes of the connection.
enum class Fate : std::uint8_t { opens, delivers, ends, is_made_again };

Fate expected(At state, Sent what) {
  const bool is_message = what == Sent::message || what == Sent::empty_message || what == Sent::longest_message;
  if ((state == At::called && what == Sent::hello) || (state == At::asking && what == Sent::answer)) {
    return Fate::opens;
  }
  if (state == At::asking && (what == Sent::nothing || what == Sent::end)) {  // an empty packet looks as an end
    return Fate::is_made_again;
  }
  return (state == At::serving || state == At::connected) && is_message ? Fate::delivers : Fate::ends;
}

class ChannelStates : public Comch, public testing::WithParamInterface<std::tuple<At, Sent>> {
 protected:
  ChannelStates()
      : identity_(sim::channel_identity(sim::fabric(), find_device("pf0", pydoca::Side::host).pci_addr(), "copy",
                                        options_)) {}

  static bool is_of_server(At state) { return state == At::called || state == At::serving; }

  void bring_to(At state) {
    if (is_of_server(state)) {
      bring_server_to(state);
    } else {
      bring_client_to(state);
    }
  }

  void call() {
    Status status = Status::unknown;
    peer_ = sim::connect_to(address_, status);
    ASSERT_EQ(status, Status::success);
  }

  void bring_server_to(At state) {
    server_.emplace();
    server_->context->set_max_msg_size(longest);
    server_->start();
    call();
    if (state == At::serving) {
      send(Sent::hello);
      ASSERT_TRUE(run_until({server_->engine.get()}, [&] { return server_->events.connected.size() == 1; }));
    }
  }

  void bring_client_to(At state) {
    listener_ = sim::listen_at(address_, 4);
    client_.emplace();
    client_->context->set_max_msg_size(longest);
    client_->start();
    ASSERT_TRUE(run_until({client_->engine.get()}, [&] { return accept_call(); }));
    if (state == At::connected) {
      send(Sent::answer);
      ASSERT_TRUE(run_until({client_->engine.get()}, [&] { return client_->is(ContextState::running); }));
    }
  }

  void send_frame(FrameType type, std::span<const std::byte> payload) const {
    static_cast<void>(sim::send_frame(peer_.get(), type, payload));
  }
  void send_hello(std::string_view service, std::uint32_t version = sim::channel_version) const {
    sim::HelloFrame frame;
    const auto bytes = encode(sim::Hello{options_, identity_.fabric, identity_.pci_addr, service}, frame);
    if (version != sim::channel_version) {
      constexpr std::size_t place = 4;  // it follows the magic number
      std::memcpy(frame.data() + place, &version, sizeof version);
    }
    send_frame(FrameType::hello, bytes);
  }
  void send_answer(Status status, std::string_view reason) const {
    sim::HelloFrame frame;
    send_frame(FrameType::answer, encode(sim::Answer{status, options_, reason}, frame));
  }

  void send(Sent what) {
    const std::array<std::byte, longest + 1> text{};
    const std::span<const std::byte> bytes(text);
    const std::array one_descriptor{peer_.get()};
    const auto type = FrameType::message;
    switch (what) {
      case Sent::hello:
        return send_hello("copy");
      case Sent::hello_to_another:
        return send_hello("paste");
      case Sent::hello_of_another_version:
        return send_hello("copy", sim::channel_version + 1);
      case Sent::answer:
        return send_answer(Status::success, "1");
      case Sent::refusal:
        return send_answer(Status::not_permitted, "no\n\x1b[2J");
      case Sent::unknown_status:
        return send_answer(static_cast<Status>(200), "");
      case Sent::garbage_answer:
        return send_frame(FrameType::answer, bytes);
      case Sent::message:
        return send_frame(type, bytes.first(5));
      case Sent::empty_message:
        return send_frame(type, {});
      case Sent::longest_message:
        return send_frame(type, bytes.first(longest));
      case Sent::too_long_message:
        return send_frame(type, bytes);
      case Sent::handshake:
        return send_frame(FrameType::handshake, bytes);
      case Sent::unknown_type:
        return send_frame(static_cast<FrameType>(77), bytes.first(5));
      case Sent::half_a_head:
        static_cast<void>(sim::send_message(peer_.get(), bytes.first(2), {}));
        return;
      case Sent::with_descriptor:
        static_cast<void>(sim::send_message(peer_.get(), std::as_bytes(std::span(&type, 1)), one_descriptor));
        return;
      case Sent::nothing:
        static_cast<void>(sim::send_message(peer_.get(), {}, {}));
        return;
      case Sent::end:
        ::shutdown(peer_.get(), SHUT_WR);
        return;
    }
  }

  /// Reads what the context has sent.
  bool peer_is_closed() const {
    std::array<std::byte, 2048> bytes{};
    ssize_t length = 0;
    while ((length = ::recv(peer_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT)) > 0) {
    }
    return length == 0 || errno != EAGAIN;
  }

  bool accept_call() {
    Status status = Status::again;
    peer_ = sim::accept_peer(listener_.fd.get(), status);
    return static_cast<bool>(peer_);
  }

  void require_of_server(At state, Fate fate) {
    Events& events = server_->events;
    const auto done = [&] {
      switch (fate) {
        case Fate::opens:
          return events.connected.size() == 1;
        case Fate::delivers:
          return events.messages.size() == 1;
        default:
          return peer_is_closed() && events.disconnected == (state == At::serving ? 1 : 0);
      }
    };
    // The server does not notice that its packet was read: it must not sleep meanwhile.
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!done() && std::chrono::steady_clock::now() < end) {
      server_->engine->progress();
    }
    EXPECT_TRUE(done());
    if (fate == Fate::ends) {
      EXPECT_TRUE(events.messages.empty());
      EXPECT_EQ(events.connected.size(), state == At::called ? 0U : 1U);
    }
    EXPECT_EQ(server_->context->state(), ContextState::running);
  }

  void require_of_client(Fate fate) {
    EXPECT_TRUE(run_until({client_->engine.get()}, [&] {
      switch (fate) {
        case Fate::opens:
          return client_->is(ContextState::running);
        case Fate::delivers:
          return client_->events.messages.size() == 1;
        case Fate::is_made_again:
          return accept_call();
        default:
          return client_->is(ContextState::idle);
      }
    }));
    EXPECT_TRUE(fate == Fate::delivers || client_->events.messages.empty());
  }

  /// The context's next peer is an honest one.
  void require_service() {
    peer_.reset();
    if (server_) {
      ClientSide honest;
      honest.start();
      meet(*server_, honest);
      return;
    }
    listener_ = {};
    EXPECT_TRUE(client_->is(ContextState::idle) || client_->stop());
    ServerSide honest;
    honest.start();
    client_->start();
    meet(honest, *client_);
  }

 private:
  const backend::ChannelOptions options_{.max_msg_size = longest, .recv_queue_size = 4};
  const sim::ChannelIdentity identity_;
  const sim::Address address_ =
      sim::fabric_address(identity_.fabric, sim::channel_purpose, sim::channel_key(identity_));
  std::optional<ServerSide> server_;
  std::optional<ClientSide> client_;
  sim::ListeningSocket listener_;
  detail::Fd peer_;
};

TEST_P(ChannelStates, GoOnOrEnd) {
  const auto [state, what] = GetParam();
  ASSERT_NO_FATAL_FAILURE(bring_to(state));
  send(what);
  if (is_of_server(state)) {
    require_of_server(state, expected(state, what));
  } else {
    require_of_client(expected(state, what));
  }
  require_service();
}

INSTANTIATE_TEST_SUITE_P(All, ChannelStates,
                         testing::Combine(testing::ValuesIn(all_states), testing::ValuesIn(all_sent)),
                         [](const auto& test) { return cell_name(test, names_of_states, names_of_sent); });

}  // namespace
}  // namespace pydoca::comch
