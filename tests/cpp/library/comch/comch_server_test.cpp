#include "pydoca/comch.hpp"

#include "backend/sim/comch/channel.hpp"
#include "backend/sim/fabric/fabric.hpp"
#include "backend/sim/message/frame.hpp"
#include "rig/expect_error.hpp"
#include "rig/library/comch_rig.hpp"

#include <gtest/gtest.h>

#include <sys/socket.h>

namespace pydoca::comch {
namespace {

using ComchServer = Comch;

TEST_F(ComchServer, NameInUseIsAlreadyExist) {
  ServerSide first;
  first.start();
  ServerSide second;
  EXPECT_EQ(thrown_by([&] { return second.context->start(); }), Status::already_exist);
  EXPECT_EQ(second.context->state(), ContextState::idle);
  ServerSide elsewhere("copy", nullptr, 1, "0b:00.2");
  elsewhere.start();
  EXPECT_TRUE(first.stop());
  second.start();
}

TEST_F(ComchServer, ServesSixtyFourClients) {
  ServerSide server("copy", nullptr, 64);
  server.start();
  const auto engine = ProgressEngine::create();
  std::vector<std::unique_ptr<ClientSide>> clients;
  for (int i = 0; i < 64; ++i) {
    clients.push_back(std::make_unique<ClientSide>("copy", engine, 1));
    clients.back()->start();
  }
  const auto all = [&](auto condition) { return std::ranges::all_of(clients, condition); };
  ASSERT_TRUE(run_until({server.engine.get(), engine.get()}, [&] {
    return server.events.connected.size() == 64 &&
           all([](const auto& client) { return client->is(ContextState::running); });
  }));
  server.events.on_message = [&](Connection& connection, std::span<const std::byte> message) {
    connection.set_user_data(std::to_integer<std::uint64_t>(message[0]));
  };
  for (std::size_t i = 0; i < clients.size(); ++i) {
    const Bytes number{static_cast<std::byte>(i)};
    ASSERT_EQ(clients[i]->send(number), Status::success);
  }
  ASSERT_TRUE(run_until({server.engine.get(), engine.get()}, [&] { return server.events.messages.size() == 64; }));
  std::vector<std::byte> numbers(64);
  for (std::size_t i = 0; i < 64; ++i) {
    Connection& connection = *server.events.connected[i];
    numbers[i] = static_cast<std::byte>(connection.user_data());
    ASSERT_EQ(server.send(connection, std::span(numbers).subspan(i, 1)), Status::success);
  }
  ASSERT_TRUE(run_until({server.engine.get(), engine.get()},
                        [&] { return all([](const auto& client) { return client->events.messages.size() == 1; }); }));
  for (std::size_t i = 0; i < clients.size(); ++i) {
    EXPECT_EQ(clients[i]->events.messages[0], Bytes{static_cast<std::byte>(i)}) << "each client has its own message";
  }
  EXPECT_EQ(server.context->connections().size(), 64U);
  clients.resize(32);
  ASSERT_TRUE(run_until({server.engine.get(), engine.get()}, [&] { return server.events.disconnected == 32; }));
  EXPECT_TRUE(all([](const auto& client) { return client->is(ContextState::running); })) << "the others stay";
  static_cast<void>(server.context->stop());
  ASSERT_TRUE(run_until({server.engine.get(), engine.get()},
                        [&] { return all([](const auto& client) { return client->is(ContextState::idle); }); }));
  EXPECT_EQ(server.context->state(), ContextState::idle);
  EXPECT_EQ(server.events.disconnected, 64);
}

TEST_F(ComchServer, RefusesOneClientTooMany) {
  sim::Topology topology = sim::default_topology();
  for (sim::Function& function : topology.functions) {
    if (function.properties.capabilities.comch) {
      function.properties.capabilities.comch->max_clients = 2;
    }
  }
  sim::set_topology(topology);
  ServerSide server;
  server.start();
  ClientSide first;
  ClientSide second;
  ClientSide third;
  first.start();
  meet(server, first);
  second.start();
  meet(server, second);
  third.start();
  ASSERT_TRUE(run_until({server.engine.get(), third.engine.get()}, [&] { return third.is(ContextState::idle); }));
  EXPECT_EQ(third.context->failure(), Status::full);
  EXPECT_EQ(third.events.states, (std::vector{ContextState::starting, ContextState::stopping, ContextState::idle}));
  EXPECT_TRUE(first.stop());
  ASSERT_TRUE(run_until({server.engine.get()}, [&] { return server.events.disconnected == 1; }));
  third.start();
  meet(server, third);
}

TEST_F(ComchServer, DisconnectsOneClient) {
  ServerSide server;
  server.start();
  ClientSide first;
  ClientSide second;
  first.start();
  meet(server, first);
  second.start();
  meet(server, second);
  const auto connection = server.events.connected[0];
  EXPECT_EQ(thrown_by([&] { server.context->disconnect(*second.context->connection()); }), Status::invalid_value);
  server.context->disconnect(*connection);
  EXPECT_FALSE(connection->is_connected());
  EXPECT_EQ(server.events.disconnected, 0) << "only progress reports it";
  EXPECT_EQ(thrown_by([&] { server.context->disconnect(*connection); }), Status::not_connected);
  ASSERT_TRUE(run_until({server.engine.get(), first.engine.get()},
                        [&] { return server.events.disconnected == 1 && first.is(ContextState::idle); }));
  EXPECT_TRUE(second.is(ContextState::running));
  EXPECT_EQ(server.context->connections().size(), 1U);
  EXPECT_TRUE(server.stop());
  EXPECT_EQ(thrown_by([&] { server.context->disconnect(*connection); }), Status::bad_state);
}

TEST_F(ComchServer, MayDisconnectAndStopInCallbacks) {
  ServerSide server;
  server.start();
  server.events.on_message = [&](Connection& connection, std::span<const std::byte> /*message*/) {
    server.context->disconnect(connection);
  };
  server.events.on_disconnected = [&](Connection& connection) {
    EXPECT_EQ(connection.server(), server.context.get());
    connection.update_info();
    EXPECT_EQ(connection.counter(Counter::recv_messages), 1U);
    EXPECT_EQ(server.context->stop(), Status::in_progress);
  };
  ClientSide client;
  client.start();
  meet(server, client);
  EXPECT_EQ(client.send(pattern(1)), Status::success);
  EXPECT_EQ(client.send(pattern(2)), Status::success);
  ASSERT_TRUE(run_until({server.engine.get(), client.engine.get()}, [&] {
    return server.context->state() == ContextState::idle && client.is(ContextState::idle);
  }));
  EXPECT_EQ(server.events.messages.size(), 1U);
}

TEST_F(ComchServer, MayStopInTheConnectedCallback) {
  ServerSide server;
  server.start();
  server.events.on_connected = [&](Connection&) { EXPECT_EQ(server.context->stop(), Status::in_progress); };
  ClientSide client;
  client.start();
  ASSERT_TRUE(run_until({server.engine.get(), client.engine.get()}, [&] {
    return server.context->state() == ContextState::idle && client.is(ContextState::idle);
  }));
  EXPECT_EQ(server.events.disconnected, 1);
}

TEST_F(ComchServer, ForgetsClientsThatAreDestroyedAtAnyTime) {
  ServerSide server;
  server.start();
  ClientSide witness;
  witness.start();
  meet(server, witness);
  for (int steps = 0; steps < 6; ++steps) {
    ClientSide client;
    client.start();
    for (int i = 0; i < steps; ++i) {
      client.engine->progress();
      server.engine->progress();
    }
  }
  while (server.engine->progress() != 0) {
  }
  ASSERT_TRUE(run_until({server.engine.get()}, [&] { return server.context->connections().size() == 1; }));
  EXPECT_EQ(server.events.connected.size(), 1U + static_cast<std::size_t>(server.events.disconnected));
  EXPECT_EQ(witness.send(pattern(9)), Status::success);
  ASSERT_TRUE(
      run_until({server.engine.get(), witness.engine.get()}, [&] { return server.events.messages.size() == 1; }));
}

TEST_F(ComchServer, AHostilePeerIsDroppedAlone) {
  ServerSide server;
  server.start();
  ClientSide client;
  client.start();
  meet(server, client);
  const auto identity =
      sim::channel_identity(fabric_, "0000:0b:00.0", "copy", {.max_msg_size = 64, .recv_queue_size = 1});
  const sim::Address address = sim::fabric_address(fabric_, sim::channel_purpose, sim::channel_key(identity));
  Status status{};
  const detail::Fd garbled = sim::connect_to(address, status);  // garbage for a hello
  EXPECT_GT(::send(garbled.get(), "garbage", 7, 0), 0);
  const detail::Fd silent = sim::connect_to(address, status);    // sends nothing
  const detail::Fd too_long = sim::connect_to(address, status);  // a message longer than agreed
  sim::HelloFrame frame;
  EXPECT_EQ(sim::send_frame(too_long.get(), sim::FrameType::hello, sim::encode(identity.hello(), frame)),
            Status::success);
  EXPECT_EQ(sim::send_frame(too_long.get(), sim::FrameType::message, pattern(65)), Status::success);
  ASSERT_TRUE(run_until({server.engine.get()}, [&] {
    return server.events.turned_away == 1 && server.events.connected.size() == 2 && server.events.disconnected == 1;
  }));
  EXPECT_TRUE(server.events.messages.empty());
  EXPECT_EQ(client.send(pattern(9)), Status::success);
  ASSERT_TRUE(
      run_until({server.engine.get(), client.engine.get()}, [&] { return server.events.messages.size() == 1; }));
  EXPECT_TRUE(server.stop()) << "the silent peer does not delay the stop";
}

}  // namespace
}  // namespace pydoca::comch
