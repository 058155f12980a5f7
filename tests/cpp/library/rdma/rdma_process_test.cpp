/// Contexts in separate processes, and the reaction of one to the death of the other.

#include "rig/bytes.hpp"
#include "rig/library/rdma_rig.hpp"
#include "rig/process/peer_process.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <poll.h>
#include <string>
#include <thread>
#include <utility>

namespace pydoca {
namespace {

using testing::SizeIs;

constexpr std::uint16_t port = 4711;

/// The operations of a peer. Each operation answers with a message.
namespace op {
constexpr char start = 's';    ///< payload: fabric; a: connections
constexpr char memory = 'm';   ///< a: size, b: MemorySource. Answers with its blob, and its address in a
constexpr char details = 'e';  ///< a connection's details
constexpr char connect = 'c';  ///< payload: details
constexpr char listen = 'l';   ///< accepts every request
constexpr char receive = 'r';  ///< a receives of b bytes each, which echo; without b they only count
constexpr char look = 'p';     ///< 64 bytes at a, and the number of completions in b
constexpr char add = 'a';      ///< adds 1 to the word of payload's memory, a times, over and over; b: its address
constexpr char stop = 'x';     ///< stops the context and starts it again
constexpr char quit = 'q';
}  // namespace op

/// The context that a peer process has, on p1.
class Peer {
 public:
  explicit Peer(int socket) : socket_(socket) {}

  void serve() {
    for (bool serving = true; serving;) {
      if (rig_ == nullptr || wait()) {
        const PeerMessage request = receive_message_from(socket_);
        serving = request.op != op::quit;
        if (serving) {
          PeerMessage reply{.op = request.op, .payload = {}};
          handle(request, reply);
          send_message_to(socket_, reply);
        }
      }
    }
    rig_.reset();
  }

 private:
  /// Whether the test has sent an order.
  bool wait() {
    while (rig_->pe->drain(1000) != 0) {
    }
    rig_->pe->request_notification();
    std::array<pollfd, 2> handles{{{.fd = socket_, .events = POLLIN, .revents = 0},
                                   {.fd = rig_->pe->notification_handle(), .events = POLLIN, .revents = 0}}};
    ::poll(handles.data(), handles.size(), 30'000);
    rig_->pe->clear_notification();
    return handles[0].revents != 0;
  }

  void handle(const PeerMessage& request, PeerMessage& reply) {
    switch (request.op) {
      case op::start:
        start(request);
        break;
      case op::memory:
        memory_ = std::make_unique<NetMemory>(rig_->device, request.a, any_rdma, static_cast<MemorySource>(request.b));
        reply.payload = text_of(memory_->blob);
        reply.a = memory_->addr();
        break;
      case op::details:
        connection_ = rig_->rdma->export_connection();
        reply.payload = text_of(connection_->details());
        break;
      case op::connect:
        rig_->rdma->connect(bytes_of(request.payload), *connection_);
        break;
      case op::listen:
        rig_->on_request = [](RdmaConnection& connection) { connection.accept(); };
        rig_->rdma->start_listen_to_port(port);
        break;
      case op::receive:
        receive(request.a, request.b);
        break;
      case op::look:
        reply.payload = text_of(memory_->bytes.subspan(request.a, 64));
        reply.b = rig_->completions.size();
        break;
      case op::add:
        add(request, reply);
        break;
      default:
        rig_->stop();
        EXPECT_EQ(rig_->rdma->start(), Status::success);
    }
  }

  void start(const PeerMessage& request) {
    sim::set_fabric(request.payload);
    rig_ = std::make_unique<RdmaRig>("p1", 64);
    rig_->rdma->set_max_num_connections(static_cast<std::uint16_t>(request.a));
    EXPECT_EQ(rig_->rdma->start(), Status::success);
  }

  void receive(std::uint64_t count, std::uint64_t size) {
    if (size != 0) {
      rig_->on_completion = [this, size](RdmaTask& task) { echo(task, size); };
    }
    for (std::uint64_t i = 0; i < count; ++i) {
      rig_->submit(&Rdma::receive, size != 0 ? rig_->room(*memory_, i * size, size) : nullptr);
    }
  }

  /// Sends the received message back, and posts the receive again once it is sent.
  void echo(RdmaTask& task, std::uint64_t size) {
    if (task.status() != Status::success) {
      return;
    }
    if (task.kind() == RdmaTaskKind::receive) {
      RdmaTask* answer = nullptr;
      ASSERT_EQ(rig_->rdma->send(*task.connection(), task.dst_buf(), 0, answer), Status::success);
      ASSERT_EQ(answer->submit(), Status::success);
    } else {
      Buf* const buf = task.src_buf();
      ASSERT_EQ(buf->len(), size);
      ASSERT_EQ(buf->reset_data_len(), Status::success);
      RdmaTask* next = nullptr;
      ASSERT_EQ(rig_->rdma->receive(buf, 0, next), Status::success);
      ASSERT_EQ(next->submit(), Status::success);
    }
  }

  void add(const PeerMessage& request, PeerMessage& reply) {
    const auto map = Mmap::create_from_export(rig_->device, bytes_of(request.payload));
    const NetMemory results(rig_->device, 64);
    for (std::uint64_t i = 0; i < request.a; ++i) {
      Buf* const word = rig_->data(map, request.b, 8);
      Buf* const result = rig_->room(results, 0, 8);
      rig_->submit(&Rdma::atomic_fetch_add, *connection_, word, result, std::uint64_t{1});
      while (rig_->completions.size() <= i) {
        rig_->pe->progress();
      }
      reply.b += rig_->completions.back().status == Status::success ? 1U : 0U;
      rig_->free_bufs();
    }
  }

  int socket_;
  std::unique_ptr<RdmaRig> rig_;
  std::unique_ptr<NetMemory> memory_;
  std::shared_ptr<RdmaConnection> connection_;
};

TEST(RdmaPeer, DISABLED_Serve) {
  if (peer_socket() < 0) {
    GTEST_SKIP() << "runs only as the peer of another test";
  }
  Peer(peer_socket()).serve();
}

std::unique_ptr<PeerProcess> start_peer(std::uint64_t connections = 1) {
  auto peer = std::make_unique<PeerProcess>("RdmaPeer.DISABLED_Serve");
  peer->ask({.op = op::start, .a = connections, .payload = sim::fabric()});
  return peer;
}

/// This process's context on pf0, and a peer's on p1.
class RdmaProcess : public RdmaFabricTest {
 protected:
  void connect() {
    EXPECT_EQ(rig->rdma->start(), Status::success);
    connection = rig->rdma->export_connection();
    rig->rdma->connect(bytes_of(peer->ask({.op = op::details, .payload = {}}).payload), *connection);
    peer->ask({.op = op::connect, .payload = text_of(connection->details())});
    ASSERT_TRUE(run([&] { return rig->ups.size() == 1; }));
  }
  void connect_by_address() {
    EXPECT_EQ(rig->rdma->start(), Status::success);
    peer->ask({.op = op::listen, .payload = {}});
    connection = rig->rdma->connect_to_addr(RdmaAddress::create(RdmaAddressType::ipv4, "10.0.1.2", port));
    ASSERT_TRUE(run([&] { return rig->ups.size() == 1; }));
  }
  void make_remote(std::size_t size, MemorySource source) {
    const PeerMessage made =
        peer->ask({.op = op::memory, .a = size, .b = static_cast<std::uint64_t>(source), .payload = {}});
    remote_addr = made.a;
    remote = Mmap::create_from_export(rig->device, bytes_of(made.payload));
  }
  bool run(const std::function<bool()>& done) { return run_until({rig.get()}, done); }
  bool run(std::size_t completions) {
    return run([&] { return rig->completions.size() >= completions; });
  }
  PeerMessage look(std::uint64_t offset) { return peer->ask({.op = op::look, .a = offset, .payload = {}}); }
  /// Waits, after the peer was killed: the connection ends, and the context stays RUNNING.
  void expect_lost() {
    ASSERT_TRUE(run([&] { return rig->downs.size() == 1; }));
    EXPECT_EQ(connection->failure(), Status::connection_reset);
    EXPECT_EQ(rig->rdma->state(), ContextState::running);
  }
  void TearDown() override {
    connection.reset();
    rig.reset();
    remote.reset();
    local.reset();
  }

  std::unique_ptr<PeerProcess> peer = start_peer();
  std::unique_ptr<RdmaRig> rig = std::make_unique<RdmaRig>("pf0", 64);
  std::unique_ptr<NetMemory> local = std::make_unique<NetMemory>(rig->device, std::size_t{1} << 20);
  std::shared_ptr<RdmaConnection> connection;
  std::shared_ptr<Mmap> remote;
  std::uint64_t remote_addr = 0;
};

class RdmaProcessMemory : public RdmaProcess, public testing::WithParamInterface<MemorySource> {};

TEST_P(RdmaProcessMemory, IsWrittenAndRead) {
  connect();
  make_remote(std::size_t{1} << 20, GetParam());
  local->fill(3);
  rig->submit(&Rdma::write, *connection, rig->data(*local, 0, 1 << 19), rig->room(remote, remote_addr, 1 << 19));
  rig->submit(&Rdma::read, *connection, rig->data(remote, remote_addr, 1 << 19), rig->room(*local, 1 << 19, 1 << 19));
  ASSERT_TRUE(run(2));
  EXPECT_EQ(rig->completions[0].status, Status::success);
  EXPECT_EQ(rig->completions[1].status, Status::success);
  EXPECT_TRUE(same(local->bytes.first(1 << 19), local->bytes.last(1 << 19)));
  EXPECT_EQ(look(4096).payload, text_of(local->bytes.subspan(4096, 64)));
  EXPECT_EQ(peer->quit(), 0);
}

TEST_P(RdmaProcessMemory, TakesAtomics) {
  connect();
  make_remote(4096, GetParam());
  for (std::size_t i = 0; i < 10; ++i) {
    rig->submit(&Rdma::atomic_fetch_add, *connection, rig->data(remote, remote_addr + 8, 8),
                rig->room(*local, 8 * i, 8), std::uint64_t{3});
  }
  ASSERT_TRUE(run(10));
  EXPECT_EQ(rig->completions[9].status, Status::success);
  EXPECT_EQ(local->word(72), 27U);
}

TEST_P(RdmaProcessMemory, OfAKilledPeerFailsItsTask) {
  connect();
  make_remote(4096, GetParam());
  peer->kill();
  expect_lost();
  RdmaTask* task = nullptr;
  EXPECT_EQ(rig->rdma->write(*connection, nullptr, nullptr, 0, task), Status::not_connected);
}

INSTANTIATE_TEST_SUITE_P(Each, RdmaProcessMemory, testing::Values(MemorySource::pydoca, MemorySource::foreign),
                         [](const auto& test) { return test.param == MemorySource::pydoca ? "Pydoca" : "Foreign"; });

TEST_F(RdmaProcess, MessagesGoThereAndBack) {
  connect_by_address();
  make_remote(std::size_t{1} << 20, MemorySource::foreign);
  peer->ask({.op = op::receive, .a = 4, .b = std::size_t{1} << 18, .payload = {}});
  local->fill(5);
  for (std::size_t i = 0; i < 20; ++i) {
    const std::size_t size = i % 3 == 0 ? std::size_t{1} << 18 : 100 * i;
    rig->submit(&Rdma::receive, rig->room(*local, 1 << 19, 1 << 18));
    rig->submit(&Rdma::send, *connection, rig->data(*local, i, size));
    ASSERT_TRUE(run(2 * i + 2)) << i;
    const auto received = std::ranges::find(rig->completions, RdmaTaskKind::receive, &RdmaRig::Completion::kind);
    ASSERT_NE(received, rig->completions.end());
    ASSERT_TRUE(same(local->bytes.subspan(i, size), local->bytes.subspan(1 << 19, size))) << i;
    rig->free_bufs();
  }
  connection->disconnect();
  ASSERT_TRUE(run([&] { return rig->downs.size() == 1; }));
  EXPECT_EQ(peer->quit(), 0);
}

TEST_F(RdmaProcess, AStoppedPeerIsAlostOneAndCanBeConnectedAgain) {
  connect();
  rig->submit(&Rdma::send, *connection, nullptr);
  peer->ask({.op = op::stop, .payload = {}});
  expect_lost();
  ASSERT_THAT(rig->completions, SizeIs(1));
  EXPECT_EQ(rig->completions[0].status, Status::connection_reset);
  connection = rig->rdma->export_connection();
  rig->rdma->connect(bytes_of(peer->ask({.op = op::details, .payload = {}}).payload), *connection);
  peer->ask({.op = op::connect, .payload = text_of(connection->details())});
  peer->ask({.op = op::receive, .a = 1, .payload = {}});
  rig->submit(&Rdma::send, *connection, nullptr);
  ASSERT_TRUE(run(2));
  EXPECT_EQ(rig->completions[1].status, Status::success);
  EXPECT_EQ(peer->quit(), 0);
}

TEST_F(RdmaProcess, AKilledPeerFailsASendThatWaits) {
  connect();
  rig->submit(&Rdma::send, *connection, nullptr);
  rig->submit(&Rdma::receive, nullptr);
  peer->kill();
  expect_lost();
  ASSERT_THAT(rig->completions, SizeIs(1)) << "the receive waits for the next peer";
  EXPECT_EQ(rig->completions[0].status, Status::connection_reset);
}

TEST_F(RdmaProcess, AKilledPeerIsNoticedWhileItIsConnecting) {
  rig->rdma->set_connection_request_timeout(60'000);
  EXPECT_EQ(rig->rdma->start(), Status::success);
  const auto listener = start_peer();
  peer->ask({.op = op::listen, .payload = {}});
  ::kill(peer->pid(), SIGSTOP);
  connection = rig->rdma->connect_to_addr(RdmaAddress::create(RdmaAddressType::ipv4, "10.0.1.2", port));
  EXPECT_FALSE(rig->pe->wait(10));
  peer->kill();
  ASSERT_TRUE(run([&] { return rig->failures.size() == 1; }));
  EXPECT_EQ(connection->failure(), Status::connection_reset);
}

TEST_F(RdmaProcess, DetailsOfAKilledPeerAreRefused) {
  EXPECT_EQ(rig->rdma->start(), Status::success);
  const std::string details = peer->ask({.op = op::details, .payload = {}}).payload;
  connection = rig->rdma->export_connection();
  peer.reset();
  Status status = Status::success;
  try {
    rig->rdma->connect(bytes_of(details), *connection);
  } catch (const Error& error) {
    status = error.status();
  }
  EXPECT_EQ(status, Status::connection_aborted);
}

TEST_F(RdmaProcess, AtomicsOfSeveralProcessesAreExact) {
  constexpr std::uint64_t rounds = 3000;
  constexpr std::size_t adders = 3;
  peer.reset();
  const auto mine = std::make_unique<RdmaRig>("pf0vf0");
  mine->rdma->set_max_num_connections(adders);
  EXPECT_EQ(mine->rdma->start(), Status::success);
  NetMemory word(mine->device, 4096);
  std::vector<std::unique_ptr<PeerProcess>> peers;
  for (std::size_t i = 0; i < adders; ++i) {
    peers.push_back(start_peer());
    const auto to_peer = mine->rdma->export_connection();
    const std::string details = peers[i]->ask({.op = op::details, .payload = {}}).payload;
    peers[i]->ask({.op = op::connect, .payload = text_of(to_peer->details())});
    mine->rdma->connect(bytes_of(details), *to_peer);
  }
  std::vector<std::uint64_t> done(adders);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < adders; ++i) {
    threads.emplace_back([&, i] {
      done[i] = peers[i]->ask({.op = op::add, .a = rounds, .b = word.addr(64), .payload = text_of(word.blob)}).b;
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_THAT(done, testing::Each(rounds));
  EXPECT_EQ(word.word(64), rounds * adders);
}

/// A peer killed at any moment under traffic in both directions: nothing hangs, and the next one is served.
TEST_F(RdmaProcess, ServesOnWhilePeersAreKilledUnderTraffic) {
  EXPECT_EQ(rig->rdma->start(), Status::success);
  std::minstd_rand random(static_cast<unsigned>(testing::UnitTest::GetInstance()->random_seed()));
  std::size_t sent = 0;
  for (int round = 0; round < 12; ++round) {
    peer = start_peer();
    connection = rig->rdma->export_connection();
    rig->rdma->connect(bytes_of(peer->ask({.op = op::details, .payload = {}}).payload), *connection);
    peer->ask({.op = op::connect, .payload = text_of(connection->details())});
    make_remote(std::size_t{1} << 20, MemorySource::pydoca);
    peer->ask({.op = op::receive, .a = 8, .b = std::size_t{1} << 17, .payload = {}});
    rig->completions.clear();
    rig->downs.clear();
    rig->on_completion = [this](RdmaTask& task) {
      if (task.kind() == RdmaTaskKind::receive && task.status() == Status::success) {
        EXPECT_EQ(task.dst_buf()->reset_data_len(), Status::success);
        EXPECT_EQ(task.submit(), Status::success);
      } else if (task.status() == Status::success && connection->is_connected()) {
        EXPECT_EQ(task.submit(), Status::success);
      }
    };
    if (round == 0) {
      for (std::size_t i = 0; i < 8; ++i) {
        rig->submit(&Rdma::receive, rig->room(*local, (i / 4) << 17, 1 << 17));
      }
    }
    for (std::size_t i = 0; i < 4; ++i) {
      rig->submit(&Rdma::send, *connection, rig->data(*local, 0, 1 + random() % (1 << 17)));
      rig->submit(&Rdma::write, *connection, rig->data(*local, 0, 1 << 16), rig->room(remote, remote_addr, 1 << 16));
    }
    const std::size_t enough = 20 + random() % 200;
    ASSERT_TRUE(run([&] { return rig->completions.size() >= enough; })) << round;
    peer->kill();
    ASSERT_TRUE(run([&] { return rig->downs.size() == 1; })) << round;
    ASSERT_EQ(rig->rdma->state(), ContextState::running);
    EXPECT_EQ(rig->rdma->num_inflight_tasks(), 8U) << "the receives";
    sent += rig->completions.size();
    remote.reset();
  }
  EXPECT_GT(sent, 240U);
  rig->on_completion = nullptr;
}

}  // namespace
}  // namespace pydoca
