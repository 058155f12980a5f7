#include "backend/faulty/faults_rig.hpp"
#include "rig/comch_rig.hpp"

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
  meet({.action = FaultAction::drop, .opcodes = {FaultOpcode::comch_send}, .nth = 1});
  send("one");
  send("two");
  ASSERT_TRUE(run([&] { return server->events.messages.size() == 1 && client->events.sent.size() == 2; }));
  EXPECT_EQ(text_of(server->events.messages[0]), "two");
  EXPECT_EQ(client->events.sent[0], Status::success);
}

TEST_F(ComchFaults, AMessageArrivesTwice) {
  meet({.action = FaultAction::duplicate, .opcodes = {FaultOpcode::comch_receive}, .nth = 1});
  answer("one");
  answer("two");
  ASSERT_TRUE(run([&] { return client->events.messages.size() == 3; }));
  EXPECT_EQ(text_of(client->events.messages[0]), "one");
  EXPECT_EQ(text_of(client->events.messages[1]), "one");
  EXPECT_EQ(text_of(client->events.messages[2]), "two");
}

TEST_F(ComchFaults, ADelayedMessageKeepsItsPlace) {
  meet({.action = FaultAction::delay, .opcodes = {FaultOpcode::comch_receive}, .nth = 1, .by = 20ms});
  const auto begin = std::chrono::steady_clock::now();
  answer("one");
  answer("two");
  ASSERT_TRUE(run([&] { return client->events.messages.size() == 2; }));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 20ms);
  EXPECT_EQ(text_of(client->events.messages[0]), "one");
  EXPECT_EQ(text_of(client->events.messages[1]), "two");
}

TEST_F(ComchFaults, AMessageIsCorruptedOrCut) {
  meet({.action = FaultAction::corrupt,
        .opcodes = {FaultOpcode::comch_send},
        .corruption = Corruption::byte,
        .value = 'X'});
  send("hello");
  ASSERT_TRUE(run([&] { return server->events.messages.size() == 1; }));
  EXPECT_EQ(text_of(server->events.messages[0]), "Xello");
}

TEST_F(ComchFaults, AFailedSendKeepsTheConnection) {
  meet({.opcodes = {FaultOpcode::comch_send}, .nth = 1});
  send("one");
  send("two");
  ASSERT_TRUE(run([&] { return client->events.sent.size() == 2 && server->events.messages.size() == 1; }));
  EXPECT_EQ(client->events.sent[0], Status::io_failed);
}

TEST_F(ComchFaults, AFullQueueIsTriedAgain) {
  meet({.action = FaultAction::full, .opcodes = {FaultOpcode::comch_send}, .times = 3});
  send("one");
  ASSERT_TRUE(run([&] { return server->events.messages.size() == 1; }));
  EXPECT_EQ(report().triggered, 3U);
}

TEST_F(ComchFaults, AConnectionBreaksWithItsLink) {
  meet({.action = FaultAction::link_down, .opcodes = {FaultOpcode::comch_send}, .by = 20ms});
  send("one");
  ASSERT_TRUE(run([&] { return server->events.disconnected == 1 && client->is(ContextState::idle); }));
  EXPECT_EQ(client->context->failure(), Status::connection_reset);
  client->start();
  ASSERT_TRUE(run([&] { return client->is(ContextState::running); }));
}

TEST_F(ComchFaults, AnIdleConnectionHearsThatItsDeviceWasRemoved) {
  meet({.action = FaultAction::remove_device, .opcodes = {FaultOpcode::comch_send}});
  send("one");
  ASSERT_TRUE(run([&] { return client->is(ContextState::idle); }));
  EXPECT_EQ(client->context->failure(), Status::driver);
}

}  // namespace pydoca::comch
