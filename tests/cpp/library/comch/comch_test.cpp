#include "pydoca/comch.hpp"

#include "pydoca/representor.hpp"

#include "rig/expect_error.hpp"
#include "rig/library/comch_rig.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace pydoca::comch {
namespace {

DeviceInfo info_of(std::string_view name, pydoca::Side side) { return find_device(name, side); }

using namespace std::chrono_literals;
using ComchConfiguration = Comch;
using ComchClient = Comch;

TEST_F(ComchConfiguration, ServerIsOnTheDpuClientOnTheHost) {
  EXPECT_TRUE(Server::is_supported(info_of("p0", pydoca::Side::dpu)));
  EXPECT_FALSE(Client::is_supported(info_of("p0", pydoca::Side::dpu)));
  EXPECT_TRUE(Client::is_supported(info_of("pf0", pydoca::Side::host)));
  EXPECT_FALSE(Server::is_supported(info_of("pf0", pydoca::Side::host)));
  const auto dpu = open("p0", pydoca::Side::dpu);
  const auto host = open("pf0", pydoca::Side::host);
  EXPECT_EQ(thrown_by([&] { Client::create(dpu, "copy"); }), Status::not_supported);
  EXPECT_EQ(thrown_by([&] { Server::create(host, dpu->open_representor("0b:00.0"), "copy"); }), Status::not_supported);
}

TEST_F(ComchConfiguration, TellsTheDevicesLimits) {
  const DeviceInfo info = info_of("p0", pydoca::Side::dpu);
  EXPECT_EQ(Server::max_msg_size(info), 4080U);
  EXPECT_EQ(Server::max_name_len(info), 120U);
  EXPECT_GE(Server::max_clients(info), 512U);
  EXPECT_GE(Client::max_send_tasks(info), 1024U);
  EXPECT_GE(Client::max_recv_queue_size(info), 1024U);
}

TEST_F(ComchConfiguration, RefusesImpossibleNames) {
  const auto host = open("pf0", pydoca::Side::host);
  EXPECT_EQ(thrown_by([&] { Client::create(host, ""); }), Status::invalid_value);
  EXPECT_EQ(thrown_by([&] { Client::create(host, std::string(120, 'x')); }), Status::invalid_value);
  EXPECT_EQ(thrown_by([&] { Client::create(host, std::string_view("a\0b", 3)); }), Status::invalid_value);
  EXPECT_EQ(Client::create(host, std::string(119, 'x'))->name().size(), 119U);
  EXPECT_EQ(thrown_by([&] { Client::create(nullptr, "copy"); }), Status::invalid_value);
}

TEST_F(ComchConfiguration, ServerNeedsItsOwnDevicesOpenRepresentor) {
  const auto p0 = open("p0", pydoca::Side::dpu);
  const auto p1 = open("p1", pydoca::Side::dpu);
  EXPECT_EQ(thrown_by([&] { Server::create(p0, nullptr, "copy"); }), Status::invalid_value);
  EXPECT_EQ(thrown_by([&] { Server::create(p1, p0->open_representor("0b:00.0"), "copy"); }), Status::invalid_value);
  const auto closed = p0->open_representor("0b:00.0");
  closed->close();
  EXPECT_EQ(thrown_by([&] { Server::create(p0, closed, "copy"); }), Status::bad_state);
}

TEST_F(ComchConfiguration, RepresentorIsInUseUntilTheServerIsClosed) {
  const auto device = open("p0", pydoca::Side::dpu);
  const auto representor = device->open_representor("0b:00.0");
  const auto server = Server::create(device, representor, "copy");
  EXPECT_EQ(thrown_by([&] { representor->close(); }), Status::in_use);
  server->close();
  server->close();
  EXPECT_EQ(thrown_by([&] { representor->close(); }), Status::success);
}

TEST_F(ComchConfiguration, RefusesLimitsAboveTheDevices) {
  const auto client = Client::create(open("pf0", pydoca::Side::host), "copy");
  EXPECT_EQ(client->max_msg_size(), 4080U);
  EXPECT_EQ(thrown_by([&] { client->set_max_msg_size(0); }), Status::invalid_value);
  EXPECT_EQ(thrown_by([&] { client->set_max_msg_size(4081); }), Status::invalid_value);
  EXPECT_EQ(thrown_by([&] { client->set_recv_queue_size(0); }), Status::invalid_value);
  EXPECT_EQ(thrown_by([&] { client->set_recv_queue_size(1U << 20); }), Status::invalid_value);
  EXPECT_EQ(thrown_by([&] { client->set_send_conf(Events::completed, Events::completed, 0); }), Status::invalid_value);
  EXPECT_EQ(thrown_by([&] { client->set_send_conf(Events::completed, Events::completed, 1U << 20); }),
            Status::invalid_value);
  EXPECT_EQ(thrown_by([&] { client->set_send_conf(nullptr, Events::completed, 1); }), Status::invalid_value);
  EXPECT_EQ(thrown_by([&] { client->set_message_received(nullptr); }), Status::invalid_value);
  client->set_max_msg_size(100);
  client->set_recv_queue_size(7);
  EXPECT_EQ(client->max_msg_size(), 100U);
  EXPECT_EQ(client->recv_queue_size(), 7U);
}

TEST_F(ComchConfiguration, StartNamesWhatIsMissing) {
  const auto device = open("p0", pydoca::Side::dpu);
  const auto server = Server::create(device, device->open_representor("0b:00.0"), "copy");
  const auto message_of_start = [&] {
    try {
      EXPECT_EQ(server->start(), Status::success);
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), Status::invalid_value);
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(thrown_by([&] { return server->start(); }), Status::not_connected);
  const auto engine = ProgressEngine::create();
  engine->connect(server);
  EXPECT_NE(message_of_start().find("set_send_conf"), std::string::npos);
  server->set_send_conf(Events::completed, Events::completed, 1);
  EXPECT_NE(message_of_start().find("set_message_received"), std::string::npos);
  server->set_message_received(Events::received);
  EXPECT_NE(message_of_start().find("set_connection_changed"), std::string::npos);
  EXPECT_EQ(thrown_by([&] { server->set_connection_changed(Events::joined, nullptr); }), Status::invalid_value);
  server->set_connection_changed(Events::joined, Events::left);
  EXPECT_EQ(server->start(), Status::success);
  EXPECT_EQ(server->stop(), Status::success);
}

TEST_F(ComchConfiguration, IsForIdleContextsOnly) {
  ServerSide server;
  server.start();
  Server& context = *server.context;
  EXPECT_EQ(thrown_by([&] { context.set_max_msg_size(100); }), Status::bad_state);
  EXPECT_EQ(thrown_by([&] { context.set_recv_queue_size(7); }), Status::bad_state);
  EXPECT_EQ(thrown_by([&] { context.set_send_conf(Events::completed, Events::completed, 1); }), Status::bad_state);
  EXPECT_EQ(thrown_by([&] { context.set_message_received(Events::received); }), Status::bad_state);
  EXPECT_EQ(thrown_by([&] { context.set_connection_changed(Events::joined, Events::left); }), Status::bad_state);
  EXPECT_EQ(thrown_by([&] { return context.start(); }), Status::bad_state);
  EXPECT_EQ(thrown_by([&] { context.close(); }), Status::in_use);
}

TEST_F(ComchClient, StartedBeforeItsServerWaits) {
  ClientSide client;
  client.start();
  EXPECT_EQ(client.context->progress_engine()->progress(), 0);
  EXPECT_TRUE(client.is(ContextState::starting));
  EXPECT_EQ(thrown_by([&] { static_cast<void>(client.context->connection()); }), Status::bad_state);
  ServerSide other("other");
  other.start();
  EXPECT_FALSE(client.engine->progress() != 0 && client.is(ContextState::running));
  ServerSide server;
  server.start();
  meet(server, client);
  EXPECT_EQ(client.context->connection()->client(), client.context.get());
  EXPECT_EQ(client.context->connection()->server(), nullptr);
  EXPECT_EQ(server.events.connected[0]->server(), server.context.get());
  EXPECT_EQ(client.events.states, (std::vector{ContextState::starting, ContextState::running}));
}

TEST_F(ComchConfiguration, RefusesANegativeTimeout) {
  ClientSide client;
  EXPECT_EQ(client.context->timeout(), 0ms);
  EXPECT_EQ(thrown_by([&] { client.context->set_timeout(-1ms); }), Status::invalid_value);
  client.context->set_timeout(20ms);
  EXPECT_EQ(client.context->timeout(), 20ms);
  client.start();
  EXPECT_EQ(thrown_by([&] { client.context->set_timeout(1ms); }), Status::bad_state);
}

TEST_F(ComchClient, WithoutAServerInTimeFails) {
  ClientSide client;
  client.context->set_timeout(20ms);
  client.start();
  ASSERT_TRUE(run_until({client.engine.get()}, [&] { return client.is(ContextState::idle); }));
  EXPECT_EQ(client.context->failure(), Status::time_out);
  EXPECT_EQ(client.events.states, (std::vector{ContextState::starting, ContextState::stopping, ContextState::idle}));
  client.context->set_timeout(0ms);
  ServerSide server;
  server.start();
  client.start();
  meet(server, client);
}

TEST_F(ComchClient, WithoutAnAnswerInTimeFails) {
  ServerSide server;
  server.start();
  ClientSide client;
  client.context->set_timeout(20ms);
  client.start();
  ASSERT_TRUE(run_until({client.engine.get()}, [&] { return client.is(ContextState::idle); }));
  EXPECT_EQ(client.context->failure(), Status::time_out);
}

TEST_F(ComchClient, ThatIsConnectedHasNoTimeout) {
  ServerSide server;
  server.start();
  ClientSide client;
  client.context->set_timeout(1h);
  client.start();
  meet(server, client);
  EXPECT_TRUE(client.stop());
  EXPECT_EQ(client.context->failure(), Status::success);
}

TEST_F(ComchClient, StopsWhileItWaits) {
  ClientSide client;
  client.start();
  client.engine->progress();
  EXPECT_EQ(client.context->stop(), Status::success);
  EXPECT_TRUE(client.is(ContextState::idle));
  EXPECT_EQ(client.context->failure(), Status::success);
}

TEST_F(ComchClient, StopsWhileTheServerThinks) {
  ServerSide server;
  server.start();
  ClientSide client;
  client.start();
  client.engine->progress();
  EXPECT_EQ(client.context->stop(), Status::success);
  ClientSide next;
  next.start();
  ASSERT_TRUE(run_until({server.engine.get(), next.engine.get()}, [&] { return next.is(ContextState::running); }));
  EXPECT_EQ(server.events.connected.size() + static_cast<std::size_t>(server.events.turned_away), 2U);
}

TEST_F(ComchClient, OutlivesAServerThatGoesBeforeItAnswers) {
  ClientSide client;
  {
    ServerSide server;
    server.start();
    client.start();
    client.engine->progress();
  }
  while (client.engine->progress() != 0) {
  }
  EXPECT_TRUE(client.is(ContextState::starting));
  ServerSide server;
  server.start();
  meet(server, client);
}

TEST_F(ComchClient, GoesIdleByItselfWhenTheServerStops) {
  ServerSide server;
  server.start();
  ClientSide client;
  client.start();
  meet(server, client);
  const auto connection = client.context->connection();
  EXPECT_TRUE(server.stop());
  EXPECT_EQ(server.events.disconnected, 1);
  ASSERT_TRUE(run_until({client.engine.get()}, [&] { return client.is(ContextState::idle); }));
  EXPECT_EQ(client.context->failure(), Status::connection_reset);
  EXPECT_EQ(client.events.states,
            (std::vector{ContextState::starting, ContextState::running, ContextState::stopping, ContextState::idle}));
  EXPECT_FALSE(connection->is_connected());
  EXPECT_EQ(connection->endpoint(), nullptr);
  connection->pause();
  connection->resume();
}

TEST_F(ComchClient, RestartsAfterItsServerDid) {
  ServerSide server;
  ClientSide client;
  for (int i = 0; i < 3; ++i) {
    server.start();
    client.start();
    meet(server, client);
    EXPECT_EQ(client.send(pattern(10)), Status::success);
    ASSERT_TRUE(run_until({server.engine.get(), client.engine.get()}, [&] {
      return server.events.messages.size() == static_cast<std::size_t>(i) + 1 &&
             client.events.sent.size() == static_cast<std::size_t>(i) + 1;
    }));
    EXPECT_TRUE(client.stop());
    ASSERT_TRUE(run_until({server.engine.get()}, [&] { return server.events.disconnected == i + 1; }));
    EXPECT_TRUE(server.stop());
  }
}

}  // namespace
}  // namespace pydoca::comch
