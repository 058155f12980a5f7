#include <pydoca/sim.hpp>
#include <pydoca/virtual_time.hpp>

#include "backend/faulty/faults_rig.hpp"
#include "rig/library/comch_rig.hpp"

namespace pydoca::comch {

using namespace std::chrono_literals;

/// A server and a client; the client's device has the plan's faults.
class ComchFaults : public FaultsTest {
 protected:
  void meet(FaultRule rule) {
    rule.device = "pf0";
    inject({std::move(rule)});
    server = std::make_unique<ServerSide>();
    client = std::make_unique<ClientSide>();
    server->start();
    client->start();
    ASSERT_TRUE(run([&] { return client->is(ContextState::running) && server->events.connected.size() == 1; }));
  }
  void TearDown() override {
    client.reset();
    server.reset();
  }
  bool run(const std::function<bool()>& done) { return run_until({server->engine.get(), client->engine.get()}, done); }
  void send(std::string_view text) { EXPECT_EQ(client->send(std::as_bytes(std::span(text))), Status::success); }
  void answer(std::string_view text) {
    EXPECT_EQ(server->send(*server->events.connected[0], std::as_bytes(std::span(text))), Status::success);
  }
  static std::string text_of(const Bytes& message) {
    return {reinterpret_cast<const char*>(message.data()), message.size()};
  }

  std::unique_ptr<ServerSide> server;
  std::unique_ptr<ClientSide> client;
};

TEST_F(ComchFaults, AMessageIsLostOnItsWay) {
  meet({.action = FaultAction::drop, .opcodes = {"comch.send"}, .nth = 1});
  send("one");
  send("two");
  ASSERT_TRUE(run([&] { return server->events.messages.size() == 1 && client->events.sent.size() == 2; }));
  EXPECT_EQ(text_of(server->events.messages[0]), "two");
  EXPECT_EQ(client->events.sent[0], Status::success);
}

TEST_F(ComchFaults, AMessageArrivesTwice) {
  meet({.action = FaultAction::duplicate, .opcodes = {"comch.receive"}, .nth = 1});
  answer("one");
  answer("two");
  ASSERT_TRUE(run([&] { return client->events.messages.size() == 3; }));
  EXPECT_EQ(text_of(client->events.messages[0]), "one");
  EXPECT_EQ(text_of(client->events.messages[1]), "one");
  EXPECT_EQ(text_of(client->events.messages[2]), "two");
}

TEST_F(ComchFaults, ADelayedMessageKeepsItsPlace) {
  meet({.action = FaultAction::delay, .opcodes = {"comch.receive"}, .nth = 1, .by = 20ms});
  const auto begin = std::chrono::steady_clock::now();
  answer("one");
  answer("two");
  ASSERT_TRUE(run([&] { return client->events.messages.size() == 2; }));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 20ms);
  EXPECT_EQ(text_of(client->events.messages[0]), "one");
  EXPECT_EQ(text_of(client->events.messages[1]), "two");
}

TEST_F(ComchFaults, ADelayedSendHoldsUpThoseBehindIt) {
  const sim::VirtualTime time(sim::VirtualTimeOptions{});
  meet({.action = FaultAction::delay, .opcodes = {"comch.send"}, .nth = 2, .by = 20ms});
  const auto begin = sim::VirtualTime::now();
  send("one");
  send("two");
  send("three");
  client->context->connection()->pause();  // as long as it does not receive, it still sends
  const auto run_for = [&](auto done) {
    while (!done() && (client->engine->progress() + server->engine->progress() != 0 || client->engine->wait(1000))) {
    }
    return done();
  };
  ASSERT_TRUE(run_for([&] { return server->events.messages.size() == 1 && client->events.sent.size() == 1; }));
  EXPECT_LT(sim::VirtualTime::now() - begin, 1ms);
  ASSERT_TRUE(run_for([&] { return server->events.messages.size() == 3 && client->events.sent.size() == 3; }));
  EXPECT_GE(sim::VirtualTime::now() - begin, 20ms);
  EXPECT_LT(sim::VirtualTime::now() - begin, 21ms);
  EXPECT_EQ(text_of(server->events.messages[1]), "two");
  EXPECT_EQ(text_of(server->events.messages[2]), "three");
  TearDown();
}

TEST_F(ComchFaults, WhatAModelHoldsMeetsFaultsAllTheSame) {
  sim::Config config;
  config.timing.operations["comch_send"] = {.latency = 1ms};
  sim::set_config(config);
  meet({.action = FaultAction::duplicate, .opcodes = {"comch.send"}, .nth = 2});
  for (const std::string_view text : {"one", "two", "three"}) {
    send(text);
  }
  ASSERT_TRUE(run([&] { return server->events.messages.size() == 4 && client->events.sent.size() == 3; }));
  EXPECT_EQ(text_of(server->events.messages[1]), "two");
  EXPECT_EQ(text_of(server->events.messages[2]), "two");
  EXPECT_EQ(text_of(server->events.messages[3]), "three");
}

TEST_F(ComchFaults, AMessageIsCorruptedOrCut) {
  meet({.action = FaultAction::corrupt, .opcodes = {"comch.send"}, .corruption = Corruption::byte, .value = 'X'});
  send("hello");
  ASSERT_TRUE(run([&] { return server->events.messages.size() == 1; }));
  EXPECT_EQ(text_of(server->events.messages[0]), "Xello");
}

TEST_F(ComchFaults, AFailedSendKeepsTheConnection) {
  meet({.opcodes = {"comch.send"}, .nth = 1});
  send("one");
  send("two");
  ASSERT_TRUE(run([&] { return client->events.sent.size() == 2 && server->events.messages.size() == 1; }));
  EXPECT_EQ(client->events.sent[0], Status::io_failed);
}

TEST_F(ComchFaults, AFailedSendNamesItsRule) {
  meet({.opcodes = {"comch.send"}, .nth = 1});
  std::vector<std::string> reasons;
  client->events.on_sent = [&](SendTask& task) {
    reasons.push_back(task.explain(task.status()));
    EXPECT_EQ(task.free(), Status::success);
  };
  send("one");
  ASSERT_TRUE(run([&] { return reasons.size() == 1; }));
  EXPECT_EQ(reasons[0], "the fault plan's rule 1 failed it");
}

TEST_F(ComchFaults, AFullQueueIsTriedAgain) {
  meet({.action = FaultAction::full, .opcodes = {"comch.send"}, .times = 3});
  send("one");
  ASSERT_TRUE(run([&] { return server->events.messages.size() == 1; }));
  EXPECT_EQ(report().triggered, 3U);
}

TEST_F(ComchFaults, AConnectionBreaksWithItsLink) {
  meet({.action = FaultAction::link_down, .opcodes = {"comch.send"}, .by = 20ms});
  send("one");
  ASSERT_TRUE(run([&] { return server->events.disconnected == 1 && client->is(ContextState::idle); }));
  EXPECT_EQ(client->context->failure(), Status::connection_reset);
  client->start();
  ASSERT_TRUE(run([&] { return client->is(ContextState::running); }));
}

TEST_F(ComchFaults, AnIdleConnectionHearsThatItsDeviceWasRemoved) {
  meet({.action = FaultAction::remove_device, .opcodes = {"comch.send"}});
  send("one");
  ASSERT_TRUE(run([&] { return client->is(ContextState::idle); }));
  EXPECT_EQ(client->context->failure(), Status::driver);
}

}  // namespace pydoca::comch
