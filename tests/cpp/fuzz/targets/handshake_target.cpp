#include "pydoca/progress_engine.hpp"
#include "pydoca/rdma.hpp"
#include "pydoca/sim.hpp"

#include "fuzz/targets/sim_targets.hpp"
#include "rig/process/handshake_peer.hpp"

#include <array>
#include <memory>
#include <sched.h>
#include <string>
#include <unistd.h>
#include <vector>

namespace pydoca::fuzz {

namespace {

using sim::HandshakeMessage;

constexpr std::uint16_t port = 11;
constexpr std::uint16_t peers_port = 12;
constexpr std::size_t max_handshake_peers = 4;

enum class HandshakeAct : std::uint8_t {
  connect,     ///< a peer
  send,        ///< a peer
  close,       ///< a peer
  read,        ///< a peer: takes what the context has sent
  progress,    ///< the context
  settle,      ///< the context, until nothing is under way in this process
  accept,      ///< the application, a request
  reject,      ///< the application, a request
  disconnect,  ///< the application, any connection
  request,     ///< the application connects to the peers' listener
  listen,      ///< the application, again, or not any more
  count,
};

/// A context, an application that answers as the input says, and peers that send what the input says. One context
/// serves all inputs: to make one takes longer than to run most inputs.
class Handshakes {
 public:
  Handshakes()
      : device_(Device::open(find_device("p1"))), engine_(ProgressEngine::create()), rdma_(Rdma::create(device_)) {
    rdma_->set_conf(RdmaTaskKind::send, ignore_task, ignore_task, 1);
    rdma_->set_connection_state_callbacks(requested, established, ended, ended);
    rdma_->set_max_num_connections(3);
    rdma_->set_connection_request_timeout(1000);
    rdma_->set_user_data(reinterpret_cast<std::uint64_t>(this));
    engine_->connect(rdma_);
    static_cast<void>(rdma_->start());
    listener_ = sim::listen_at(listener_address(*device_, peers_port), static_cast<int>(max_handshake_peers));
  }

  void run(Input parts) {
    exported_ = rdma_->export_connection();
    if (!listens_) change_listening();
    while (!parts.is_empty()) {
      act(parts);
    }
    settle();
    end();
  }

 private:
  void act(Input& parts) {
    const auto act =
        static_cast<HandshakeAct>(parts.number<std::uint8_t>() % static_cast<std::uint8_t>(HandshakeAct::count));
    const auto which = parts.number<std::uint8_t>();
    std::unique_ptr<HandshakePeer>& peer = peers_[which % max_handshake_peers];
    switch (act) {
      case HandshakeAct::connect:
        peer = std::make_unique<HandshakePeer>(listener_address(*device_, port));
        return;
      case HandshakeAct::send:
        return send(peer.get(), parts);
      case HandshakeAct::close:
        peer.reset();
        return;
      case HandshakeAct::read:
        if (peer != nullptr) read(*peer);
        return;
      case HandshakeAct::progress:
        engine_->progress();
        return;
      case HandshakeAct::settle:
        return settle();
      case HandshakeAct::request:
        return request(peer);
      case HandshakeAct::listen:
        return change_listening();
      default:
        if (!known_.empty()) use(*known_[which % known_.size()], act);
    }
  }
  void settle() {
    for (int idle = 0; idle < 20; ++idle) {
      if (engine_->progress() != 0) {
        idle = 0;
      } else {
        ::sched_yield();
      }
    }
  }
  /// Whatever came, all connections end, and the context has room for others.
  void end() {
    for (auto& peer : peers_) peer.reset();
    while (HandshakePeer(listener_.fd.get()).is_connected()) {
    }
    const auto connections = rdma_->connections();  // a rejection takes one off the list
    for (const auto& connection : connections) {
      use(*connection, HandshakeAct::reject);
      use(*connection, HandshakeAct::disconnect);
    }
    for (int i = 0; i < 1000 && !rdma_->connections().empty(); ++i) {
      settle();
    }
    require(rdma_->connections().empty(), "every connection ends");
    require(rdma_->state() == ContextState::running, "no peer stops the context");
    known_.clear();
    last_ = {};
  }

  static Handshakes& of(std::uint64_t user_data) { return *reinterpret_cast<Handshakes*>(user_data); }
  static void ignore_task(Task&, std::uint64_t, std::uint64_t) noexcept {}
  static void requested(RdmaConnection& connection, std::uint64_t self) noexcept {
    require(connection.state() == RdmaConnection::State::requested, "a request can be answered");
    of(self).known_.push_back(connection.shared_from_this());
  }
  static void established(RdmaConnection& connection, std::uint64_t, std::uint64_t) noexcept {
    require(connection.is_connected(), "a connection that is reported is connected");
    require(connection.user_data() == answered || connection.user_data() == made, "no peer connects by itself");
  }
  static void ended(RdmaConnection& connection, std::uint64_t, std::uint64_t) noexcept {
    require(connection.state() == RdmaConnection::State::closed, "an end is reported at the end");
  }

  void send(const HandshakePeer* peer, Input& parts) {
    const auto kind = parts.number<std::uint8_t>();
    const auto odd = parts.number<std::uint8_t>();
    if (peer == nullptr) {
      return;
    }
    HandshakeMessage message = handshake_message(static_cast<HandshakeMessage::Step>(kind % 5), exported_->details());
    message.status = static_cast<Status>(kind >= 128 ? kind - 128 : 0);
    if (odd % 8 == 1) message.blob[odd / 8] ^= std::byte{1};
    if (odd % 8 == 2) message.blob = last_.blob;
    if (odd % 8 == 3) message.private_data_len = ~0U;
    if (odd == 4) message.protocol ^= 1;
    peer->send(message, odd == 5 ? sizeof message - 1 : sizeof message,
               odd == 6 ? sim::FrameType::hello : sim::FrameType::handshake);
  }
  void read(const HandshakePeer& peer) {
    if (const auto message = peer.receive()) {
      last_ = *message;
    }
  }
  void request(std::unique_ptr<HandshakePeer>& peer) {
    try {
      known_.push_back(rdma_->connect_to_addr(gid_address(*device_, peers_port), made));
      peer = std::make_unique<HandshakePeer>(listener_.fd.get());
    } catch (const Error&) {  // there is no room
    }
  }
  void change_listening() {
    listens_ = !listens_;
    if (listens_) {
      rdma_->start_listen_to_port(port);
    } else {
      rdma_->stop_listen_to_port(port);
    }
  }
  static void use(RdmaConnection& connection, HandshakeAct act) {
    try {
      if (act == HandshakeAct::accept) {
        connection.set_user_data(answered);
        connection.accept();
      } else if (act == HandshakeAct::reject) {
        connection.reject();
      } else {
        connection.disconnect();
      }
    } catch (const Error&) {  // its state does not permit that
    }
  }

  static constexpr std::uint64_t answered = 1;
  static constexpr std::uint64_t made = 2;

  const std::shared_ptr<Device> device_;
  const std::shared_ptr<ProgressEngine> engine_;
  const std::shared_ptr<Rdma> rdma_;
  std::shared_ptr<RdmaConnection> exported_;
  std::vector<std::shared_ptr<RdmaConnection>> known_;
  sim::ListeningSocket listener_;
  std::array<std::unique_ptr<HandshakePeer>, max_handshake_peers> peers_;
  HandshakeMessage last_;  ///< the last message that a peer has read
  bool listens_ = false;
};

}  // namespace

void run_handshake(std::span<const std::byte> input) {
  use_own_fabric();
  static auto* const handshakes = new Handshakes;  // the whole process uses them
  handshakes->run(Input(input));
}

std::vector<Bytes> handshake_seeds() {
  constexpr int request = 1;
  constexpr int answer = 2;
  constexpr int ready = 3;
  return {
      sequence<HandshakeAct>({{HandshakeAct::connect, {}},
                              {HandshakeAct::send, {request, 0}},
                              {HandshakeAct::settle, {}},
                              {HandshakeAct::accept, {}},
                              {HandshakeAct::settle, {}},
                              {HandshakeAct::read, {}},
                              {HandshakeAct::send, {ready, 0}},
                              {HandshakeAct::settle, {}},
                              {HandshakeAct::disconnect, {}}}),
      sequence<HandshakeAct>({{HandshakeAct::connect, {}},
                              {HandshakeAct::send, {request, 0}},
                              {HandshakeAct::settle, {}},
                              {HandshakeAct::send, {ready, 0}},
                              {HandshakeAct::settle, {}},
                              {HandshakeAct::accept, {}},
                              {HandshakeAct::reject, {}}}),
      sequence<HandshakeAct>({{HandshakeAct::request, {}},
                              {HandshakeAct::read, {}},
                              {HandshakeAct::send, {answer, 0}},
                              {HandshakeAct::settle, {}},
                              {HandshakeAct::read, {}},
                              {HandshakeAct::close, {}},
                              {HandshakeAct::progress, {}},
                              {HandshakeAct::listen, {}}}),
  };
}

}  // namespace pydoca::fuzz
