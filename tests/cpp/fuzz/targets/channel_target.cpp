#include "pydoca/comch.hpp"
#include "pydoca/progress_engine.hpp"
#include "pydoca/representor.hpp"
#include "pydoca/sim.hpp"

#include "backend/sim/comch/channel.hpp"
#include "backend/sim/fabric/fabric.hpp"
#include "backend/sim/message/frame.hpp"
#include "backend/sim/message/hello.hpp"
#include "fuzz/targets/sim_targets.hpp"

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <unistd.h>

namespace pydoca::fuzz {

namespace {

constexpr std::string_view server_name = "serves";
constexpr std::string_view client_name = "seeks";
constexpr std::size_t max_channel_peers = 4;

enum class ChannelAct : std::uint8_t {
  connect,     ///< a peer, to the server
  accept,      ///< a peer takes the client's connection
  hello,       ///< a peer
  answer,      ///< a peer
  message,     ///< a peer
  other,       ///< a peer: a frame of any type, with any bytes
  read,        ///< a peer: takes what there is
  close,       ///< a peer
  progress,    ///< the contexts
  start,       ///< the application: the client, again
  stop,        ///< the application: the client
  send,        ///< the application, on every connection
  disconnect,  ///< the application: the server's first client
  count,
};

/// A server and a client, each with peers that send what the input says. The two contexts serve all inputs, and run
/// anew for each: to make them takes longer than to run most inputs.
class Channels {
 public:
  Channels()
      : host_(Device::open(find_device("pf0", Side::host))),
        dpu_(Device::open(find_device("p0", Side::dpu))),
        engine_(ProgressEngine::create()) {
    const std::string host_address = host_->info().pci_addr();
    server_ = comch::Server::create(dpu_, dpu_->open_representor(host_address), server_name);
    client_ = comch::Client::create(host_, client_name);
    for (comch::Endpoint* const endpoint :
         {static_cast<comch::Endpoint*>(server_.get()), static_cast<comch::Endpoint*>(client_.get())}) {
      endpoint->set_send_conf(free_task, free_task, 4);
      endpoint->set_message_received(received);
      endpoint->set_max_msg_size(64);
    }
    server_->set_connection_changed(changed, changed);
    engine_->connect(server_);
    engine_->connect(client_);
    const sim::ChannelIdentity identity =
        sim::channel_identity(sim::fabric(), host_address, client_name, {.max_msg_size = 64, .recv_queue_size = 4});
    hello_ = identity;
    hello_.service = server_name;
    listener_ = sim::listen_at(address(identity), static_cast<int>(max_channel_peers));
  }

  void run(Input parts) {
    static_cast<void>(server_->start());
    while (!parts.is_empty()) {
      act(parts);
    }
    progress();
    end();
  }

 private:
  /// Whatever came, both contexts stop.
  void end() {
    for (auto& peer : peers_) peer.reset();
    for (Context* const context : {static_cast<Context*>(server_.get()), static_cast<Context*>(client_.get())}) {
      for (int i = 0; context->stop() != Status::success && i < 1000; ++i) {
        engine_->progress();
      }
      require(context->state() == ContextState::idle, "a context stops");
    }
    for (Status status = Status::success; sim::accept_peer(listener_.fd.get(), status);) {
    }
  }
  void act(Input& parts) {
    const auto act =
        static_cast<ChannelAct>(parts.number<std::uint8_t>() % static_cast<std::uint8_t>(ChannelAct::count));
    const auto which = parts.number<std::uint8_t>();
    detail::Fd& peer = peers_[which % max_channel_peers];
    Status status = Status::success;
    switch (act) {
      case ChannelAct::connect:
        peer = sim::connect_to(address(hello_), status);
        return;
      case ChannelAct::accept:
        peer = sim::accept_peer(listener_.fd.get(), status);
        return;
      case ChannelAct::read:
        return drain(peer.get());
      case ChannelAct::close:
        peer.reset();
        return;
      case ChannelAct::progress:
        progress();
        return;
      case ChannelAct::start:
        if (client_->state() == ContextState::idle) static_cast<void>(client_->start());
        return;
      case ChannelAct::stop:
        static_cast<void>(client_->stop());
        return;
      case ChannelAct::send:
        return send_to_all();
      case ChannelAct::disconnect:
        if (const auto connections = server_->connections(); !connections.empty()) {
          server_->disconnect(*connections.front());
        }
        return;
      default:
        if (peer) send_as_peer(peer.get(), act, which, parts);
    }
  }
  void progress() {
    for (int i = 0; i < 20; ++i) engine_->progress();
  }

  static void free_task(Task& task, std::uint64_t, std::uint64_t) noexcept { static_cast<void>(task.free()); }
  static void received(comch::Connection& connection, std::span<const std::byte> message, std::uint64_t) noexcept {
    require(connection.is_connected(), "messages come over connections");
    require(message.size() <= 64, "no message is longer than was agreed");
  }
  static void changed(comch::Connection&, bool, std::uint64_t) noexcept {}
  static sim::Address address(const sim::ChannelIdentity& identity) {
    return sim::fabric_address(identity.fabric, sim::channel_purpose, sim::channel_key(identity));
  }
  static void drain(int peer) {
    std::array<std::byte, 2048> bytes;
    std::size_t length = 0;
    for (int i = 0; i < 16 && peer >= 0; ++i) {
      static_cast<void>(sim::receive_frame(peer, sim::FrameType::message, bytes, length));
    }
  }

  void send_to_all() {
    static std::array<std::byte, 8> text{};  // a task refers to it until it completes
    comch::SendTask* task = nullptr;
    for (const auto& connection : server_->connections()) {
      if (server_->send(*connection, text, 0, task) == Status::success) static_cast<void>(task->submit());
    }
    if (client_->state() == ContextState::running &&
        client_->send(*client_->connection(), text, 0, task) == Status::success) {
      static_cast<void>(task->submit());
    }
  }
  void send_as_peer(int peer, ChannelAct act, std::uint8_t which, Input& parts) const {
    sim::HelloFrame frame;
    const auto odd = parts.number<std::uint8_t>();
    const backend::ChannelOptions options{.max_msg_size = which < 128 ? 64U : odd * 4099U, .recv_queue_size = 1U + odd};
    if (act == ChannelAct::hello) {
      const std::string_view service = odd == 1 ? std::string_view("\x1b[2J") : hello_.service;
      const sim::Hello hello{options, hello_.fabric, hello_.pci_addr, service};
      static_cast<void>(send_frame(peer, sim::FrameType::hello, encode(hello, frame)));
    } else if (act == ChannelAct::answer) {
      const sim::Answer answer{static_cast<Status>(odd % 40), options, odd < 40 ? "" : "no\n\x1b[2J"};
      static_cast<void>(send_frame(peer, sim::FrameType::answer, encode(answer, frame)));
    } else {
      const auto bytes = parts.take(odd);
      const auto type = act == ChannelAct::message ? sim::FrameType::message : static_cast<sim::FrameType>(which % 7);
      static_cast<void>(send_frame(peer, type, bytes));
    }
  }

  const std::shared_ptr<Device> host_;
  const std::shared_ptr<Device> dpu_;
  const std::shared_ptr<ProgressEngine> engine_;
  std::shared_ptr<comch::Server> server_;
  std::shared_ptr<comch::Client> client_;
  sim::ChannelIdentity hello_;
  sim::ListeningSocket listener_;
  std::array<detail::Fd, max_channel_peers> peers_;
};

}  // namespace

void run_channel(std::span<const std::byte> input) {
  use_own_fabric();
  static auto* const channels = new Channels;  // the whole process uses them
  channels->run(Input(input));
}

std::vector<Bytes> channel_seeds() {
  return {
      sequence<ChannelAct>({{ChannelAct::connect, {}},
                            {ChannelAct::hello, {0}},
                            {ChannelAct::progress, {}},
                            {ChannelAct::message, {2, 7, 7}},
                            {ChannelAct::progress, {}},
                            {ChannelAct::send, {}},
                            {ChannelAct::read, {}},
                            {ChannelAct::hello, {0}},
                            {ChannelAct::progress, {}},
                            {ChannelAct::close, {}}}),
      sequence<ChannelAct>({{ChannelAct::start, {}},
                            {ChannelAct::progress, {}},
                            {ChannelAct::accept, {}},
                            {ChannelAct::read, {}},
                            {ChannelAct::answer, {0}},
                            {ChannelAct::progress, {}},
                            {ChannelAct::send, {}},
                            {ChannelAct::answer, {3}},
                            {ChannelAct::progress, {}},
                            {ChannelAct::stop, {}}}),
      sequence<ChannelAct>({{ChannelAct::start, {}},
                            {ChannelAct::progress, {}},
                            {ChannelAct::accept, {}},
                            {ChannelAct::answer, {43}},
                            {ChannelAct::progress, {}},
                            {ChannelAct::connect, {}},
                            {ChannelAct::message, {1, 7}},
                            {ChannelAct::progress, {}},
                            {ChannelAct::disconnect, {}}}),
  };
}

}  // namespace pydoca::fuzz
