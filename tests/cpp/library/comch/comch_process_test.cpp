/// Server and client in separate processes, and the reaction of one to the death of the other.

#include "rig/library/comch_rig.hpp"
#include "rig/process/process_rig.hpp"

#include <gtest/gtest.h>

#include <array>
#include <csignal>
#include <unistd.h>

namespace pydoca::comch {
namespace {

class ComchProcess : public FabricTest {
 protected:
  /// Echoes until its only client leaves.
  static int echo() {
    ServerSide server("copy", nullptr, 64);
    std::array<Bytes, 64> copies;
    std::size_t next = 0;
    server.start().events.on_message = [&](Connection& connection, std::span<const std::byte> message) {
      Bytes& copy = copies[next++ % copies.size()];
      copy.assign(message.begin(), message.end());
      if (server.send(connection, copy) != Status::success) {
        std::abort();
      }
    };
    return run_until({server.engine.get()}, [&] { return server.events.disconnected == 1; }) ? 0 : 1;
  }

  /// A server that accepts clients until it is killed.
  static int serve() {
    ServerSide server;
    server.start();
    return run_until({server.engine.get()}, [] { return false; }) ? 0 : 1;
  }

  /// A client that stays until it is killed.
  static int stay() {
    ClientSide client;
    client.start();
    return run_until({client.engine.get()}, [] { return false; }) ? 0 : 1;
  }

  static bool run(ClientSide& client) {
    return run_until({client.engine.get()}, [&] { return client.is(ContextState::running); });
  }
};

TEST_F(ComchProcess, EchoesEveryLength) {
  ChildProcess server(echo);
  {
    ClientSide client("copy", nullptr, 64);
    client.start();
    ASSERT_TRUE(run(client));
    const Bytes bytes = pattern(4080);
    for (std::size_t length = 0; length <= bytes.size(); ++length) {
      // At most as many as the echo has copies for.
      ASSERT_TRUE(run_until({client.engine.get()}, [&] { return client.events.messages.size() + 32 > length; }));
      ASSERT_EQ(client.send(std::span(bytes).first(length)), Status::success);
    }
    ASSERT_TRUE(run_until({client.engine.get()}, [&] { return client.events.messages.size() == 4081; }));
    for (std::size_t length = 0; length <= bytes.size(); ++length) {
      ASSERT_TRUE(same(client.events.messages[length], std::span(bytes).first(length))) << length;
    }
    ASSERT_TRUE(client.stop());
  }
  EXPECT_EQ(server.wait(), 0);
}

TEST_F(ComchProcess, AKilledServerIsNoticed) {
  ChildProcess server(serve);
  ClientSide client;
  client.start();
  ASSERT_TRUE(run(client));
  server.kill();
  ASSERT_TRUE(run_until({client.engine.get()}, [&] { return client.is(ContextState::idle); }));
  EXPECT_EQ(client.context->failure(), Status::connection_reset);
}

TEST_F(ComchProcess, AKilledServerFailsTheSendsThatWait) {
  ChildProcess server([] {
    ServerSide stuck;
    stuck.context->set_recv_queue_size(1);
    stuck.start().events.on_connected = [](Connection& connection) { connection.pause(); };
    return run_until({stuck.engine.get()}, [] { return false; }) ? 0 : 1;
  });
  ClientSide client;
  client.start();
  ASSERT_TRUE(run(client));
  const Bytes message = pattern(4080);
  for (int i = 0; i < 32; ++i) {
    ASSERT_EQ(client.send(message), Status::success);
  }
  while (client.engine->progress() != 0) {
  }
  EXPECT_LT(client.events.sent.size(), 32U);
  server.kill();
  ASSERT_TRUE(run_until({client.engine.get()}, [&] { return client.is(ContextState::idle); }));
  EXPECT_EQ(client.events.sent.size(), 32U);
  EXPECT_EQ(client.events.sent.back(), Status::connection_reset);
}

TEST_F(ComchProcess, AClientWaitsForTheServerAfterTheOneThatWasKilled) {
  std::array<int, 2> revocation_page{};
  ASSERT_EQ(::pipe(revocation_page.data()), 0);
  const ChildProcess second([&revocation_page] {  // forked before this process has threads
    char begin = 0;
    return ::read(revocation_page[0], &begin, 1) == 1 ? serve() : 1;
  });
  ClientSide client;
  {
    ChildProcess server(serve);
    client.start();
    ASSERT_TRUE(run(client));
  }
  ASSERT_TRUE(run_until({client.engine.get()}, [&] { return client.is(ContextState::idle); }));
  client.start();
  client.engine->progress();
  EXPECT_TRUE(client.is(ContextState::starting));
  ASSERT_EQ(::write(revocation_page[1], "b", 1), 1);
  EXPECT_TRUE(run(client)) << "the name is free again";
  ::close(revocation_page[0]);
  ::close(revocation_page[1]);
}

TEST_F(ComchProcess, AKilledClientIsNoticedAndDoesNotDisturbTheOthers) {
  std::array<ChildProcess, 3> clients{ChildProcess(stay), ChildProcess(stay), ChildProcess(stay)};
  ServerSide server;
  server.start();
  ClientSide witness("copy", server.engine);
  witness.start();
  ASSERT_TRUE(run_until({server.engine.get()},
                        [&] { return server.events.connected.size() == 4 && witness.is(ContextState::running); }));
  int gone = 0;
  for (ChildProcess& client : clients) {
    client.kill();
    ++gone;
    ASSERT_TRUE(run_until({server.engine.get()}, [&] { return server.events.disconnected == gone; }));
  }
  EXPECT_EQ(witness.send(pattern(3)), Status::success);
  ASSERT_TRUE(run_until({server.engine.get()}, [&] { return server.events.messages.size() == 1; }));
}

/// Clients that die at every moment of a conversation.
TEST_F(ComchProcess, ClientsThatDieAtAnyMomentLeaveNothing) {
  std::vector<std::unique_ptr<ChildProcess>> clients;
  for (int steps = 0; steps < 16; ++steps) {
    clients.push_back(std::make_unique<ChildProcess>([steps] {
      ClientSide client;
      client.start();
      const Bytes message = pattern(1000);
      for (int i = 0; i < steps * 4; ++i) {
        client.engine->progress();
        if (client.is(ContextState::running)) {
          static_cast<void>(client.send(message));
        }
      }
      ::raise(SIGKILL);
      return 0;
    }));
  }
  ServerSide server;
  server.start();
  ClientSide witness("copy", server.engine);
  witness.start();
  for (const auto& client : clients) {
    EXPECT_EQ(client->wait(), -1);
  }
  ASSERT_TRUE(run_until({server.engine.get()}, [&] {
    return witness.is(ContextState::running) && server.context->connections().size() == 1 &&
           server.events.connected.size() == 1U + static_cast<std::size_t>(server.events.disconnected);
  }));
  ASSERT_TRUE(server.stop());
  ASSERT_TRUE(run_until({server.engine.get()}, [&] { return witness.is(ContextState::idle); }));
}

/// A forked child inherits the sockets and must neither end nor keep a connection when it destroys its copies.
TEST_F(ComchProcess, AForkedChildDoesNotTouchItsParentsConnections) {
  auto server = std::make_unique<ServerSide>();
  server->start();
  auto client = std::make_unique<ClientSide>("copy", server->engine);
  client->start();
  ASSERT_TRUE(run_until({server->engine.get()}, [&] { return server->events.connected.size() == 1; }));
  ASSERT_TRUE(run_until({server->engine.get()}, [&] { return client->is(ContextState::running); }));
  ChildProcess child([&] {
    client.reset();
    server.reset();
    return 0;
  });
  EXPECT_EQ(child.wait(), 0);
  EXPECT_EQ(client->send(pattern(3)), Status::success);
  ASSERT_TRUE(run_until({server->engine.get()}, [&] { return server->events.messages.size() == 1; }));
  {
    const ChildProcess idle([] { return ::pause(); });  // holds every descriptor open
    client.reset();
    EXPECT_TRUE(run_until({server->engine.get()}, [&] { return server->events.disconnected == 1; }));
  }
}

}  // namespace
}  // namespace pydoca::comch
