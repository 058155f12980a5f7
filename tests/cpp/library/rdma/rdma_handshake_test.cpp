/// Every state of a handshake × every message of a peer: only the message that the state expects goes on, and nothing
/// harms the other connections.

#include "rig/cell_name.hpp"
#include "rig/expect_error.hpp"
#include "rig/library/rdma_rig.hpp"
#include "rig/process/handshake_peer.hpp"

#include <gmock/gmock.h>

#include <sys/socket.h>
#include <tuple>

namespace pydoca {
namespace {

using sim::FrameType;
using sim::HandshakeMessage;
using Step = HandshakeMessage::Step;
using State = RdmaConnection::State;

constexpr std::uint16_t listening_port = 13579;

enum class Sent : std::uint8_t {
  request,
  answer,
  rejection,
  ready,
  no_step,
  unknown_step,
  unknown_status,
  wrong_protocol,
  garbage_blob,
  short_message,
  empty_message,
  other_frame,
  end,
};
constexpr std::array all_sent{Sent::request,      Sent::answer,        Sent::rejection,      Sent::ready,
                              Sent::no_step,      Sent::unknown_step,  Sent::unknown_status, Sent::wrong_protocol,
                              Sent::garbage_blob, Sent::short_message, Sent::empty_message,  Sent::other_frame,
                              Sent::end};
constexpr std::array names_of_sent{
    "Request",       "Answer",      "Rejection",    "Ready",        "NoStep",     "UnknownStep", "UnknownStatus",
    "WrongProtocol", "GarbageBlob", "ShortMessage", "EmptyMessage", "OtherFrame", "End"};

/// States of the context's end.
enum class At : std::uint8_t {
  fresh,      ///< an answerer: the peer has connected
  requested,  ///< the peer has sent its request
  importing,  ///< the application has accepted
  answered,   ///< the peer has the answer
  begun,      ///< a requester: it has sent its request
  answering,  ///< the answer has come, and the peer's inbox is being imported
};
constexpr std::array all_states{At::fresh, At::requested, At::importing, At::answered, At::begun, At::answering};
constexpr std::array names_of_states{"Fresh", "Requested", "Importing", "Answered", "Begun", "Answering"};

class HandshakeOfOne : public RdmaFabricTest {
 protected:
  HandshakeOfOne() {
    context.rdma->set_max_num_connections(3);
    peers_context.rdma->set_max_num_connections(4);
    EXPECT_EQ(context.rdma->start(), Status::success);
    EXPECT_EQ(peers_context.rdma->start(), Status::success);
    inbox = peers_context.rdma->export_connection();
  }
  void TearDown() override {
    peer.reset();
    inbox.reset();
    listener = {};
  }

  bool run(const std::function<bool()>& done) { return run_until({&context, &peers_context}, done); }

  /// The context does not notice that the peer has its answer: it must not sleep meanwhile.
  bool is_answered() {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    bool answered = false;
    while (!answered && std::chrono::steady_clock::now() < end) {
      context.pe->progress();
      answered = peer->receive().has_value();
    }
    return answered;
  }

  void bring_to(At state) {
    if (state == At::begun || state == At::answering) {
      listener = sim::listen_at(listener_address(*peers_context.device, listening_port), 4);
      own = context.rdma->connect_to_addr(gid_address(*peers_context.device, listening_port));
      peer.emplace(listener.fd.get());
      ASSERT_TRUE(peer->receive().has_value());
      if (state == At::answering) {
        peer->send(handshake_message(Step::answer, inbox->details()));
        context.pe->progress();
      }
      return;
    }
    context.rdma->start_listen_to_port(listening_port);
    peer.emplace(listener_address(*context.device, listening_port));
    ASSERT_TRUE(peer->is_connected());
    if (state == At::fresh) {
      return;
    }
    peer->send(handshake_message(Step::request, inbox->details()));
    ASSERT_TRUE(run([&] { return context.requests.size() == 1; }));
    own = context.requests[0];
    if (state == At::requested) {
      return;
    }
    own->accept();
    ASSERT_TRUE(state == At::importing || is_answered());
  }

  /// A context that listens serves an honest requester.
  void require_service() {
    EXPECT_EQ(context.rdma->state(), ContextState::running);
    if (listener.fd) {
      return;
    }
    context.on_request = [](RdmaConnection& connection) { connection.accept(); };
    const auto honest = peers_context.rdma->connect_to_addr(gid_address(*context.device, listening_port));
    EXPECT_TRUE(run([&] { return honest->is_connected(); }));
  }

  RdmaRig context{"p1"};
  RdmaRig peers_context{"pf0"};
  std::shared_ptr<RdmaConnection> inbox;  ///< whose details are those of a live queue pair
  sim::ListeningSocket listener;
  std::optional<HandshakePeer> peer;
  std::shared_ptr<RdmaConnection> own;
};

class HandshakeStates : public HandshakeOfOne, public testing::WithParamInterface<std::tuple<At, Sent>> {
 protected:
  void send(Sent what) {
    HandshakeMessage message = handshake_message(Step::ready, inbox->details());
    switch (what) {
      case Sent::request:
        message.step = Step::request;
        break;
      case Sent::answer:
        message.step = Step::answer;
        break;
      case Sent::rejection:
        message.step = Step::answer;
        message.status = Status::full;
        break;
      case Sent::no_step:
        message.step = Step::none;
        break;
      case Sent::unknown_step:
        message.step = static_cast<Step>(77);
        break;
      case Sent::unknown_status:
        message.status = static_cast<Status>(200);
        break;
      case Sent::wrong_protocol:
        message.protocol ^= 1;
        break;
      case Sent::garbage_blob:
        message.step = std::get<At>(GetParam()) == At::fresh ? Step::request : Step::answer;
        message.blob.fill(std::byte{0x5a});
        break;
      case Sent::short_message:
        return peer->send(message, sizeof message - 1);
      case Sent::empty_message:
        return peer->send(message, 0);
      case Sent::other_frame:
        return peer->send(message, sizeof message, FrameType::message);
      case Sent::end:
        return peer->close();
      default:
        break;
    }
    peer->send(message);
  }

  /// Whether the state expects that message: the connection goes on.
  static bool is_expected(At state, Sent what) {
    return (state == At::fresh && (what == Sent::request || what == Sent::garbage_blob)) ||
           (state == At::answered && what == Sent::ready) || (state == At::begun && what == Sent::answer);
  }
};

TEST_P(HandshakeStates, OnlyTheExpectedMessageGoesOn) {
  const auto [state, what] = GetParam();
  ASSERT_NO_FATAL_FAILURE(bring_to(state));
  send(what);
  // The import ends before or after the context reads the message. A requester is connected then, and reads no more.
  if ((state == At::importing && what == Sent::ready) || state == At::answering) {
    EXPECT_TRUE(run([&] { return own->is_connected() || own->state() == State::closed; }));
  } else if (is_expected(state, what)) {
    EXPECT_TRUE(run([&] { return state == At::fresh ? context.requests.size() == 1 : own->is_connected(); }));
  } else if (state != At::fresh) {
    EXPECT_TRUE(run([&] { return own->state() == State::closed; }));
    EXPECT_NE(own->failure(), Status::success);
    EXPECT_EQ(thrown_by([&] { own->accept(); }),
              state == At::requested ? Status::connection_aborted : Status::bad_state);
    EXPECT_EQ(thrown_by([&] { own->reject(); }), Status::bad_state);
  }
  require_service();
}

/// A request that cannot be accepted gives its place back.
TEST_F(HandshakeOfOne, ARequestWithGarbageEndsWhenItIsAccepted) {
  ASSERT_NO_FATAL_FAILURE(bring_to(At::fresh));
  HandshakeMessage garbage{.step = Step::request};
  garbage.blob.fill(std::byte{0x5a});
  peer->send(garbage);
  ASSERT_TRUE(run([&] { return context.requests.size() == 1; }));
  EXPECT_EQ(thrown_by([&] { context.requests[0]->accept(); }), Status::connection_aborted);
  EXPECT_TRUE(run([&] { return context.rdma->connections().empty(); }));
  require_service();
}

INSTANTIATE_TEST_SUITE_P(All, HandshakeStates,
                         testing::Combine(testing::ValuesIn(all_states), testing::ValuesIn(all_sent)),
                         [](const auto& test) { return cell_name(test, names_of_states, names_of_sent); });

}  // namespace
}  // namespace pydoca
