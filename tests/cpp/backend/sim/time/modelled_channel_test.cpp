/// Comch messages with a timing model, in virtual time: every moment is exact.

#include <pydoca/sim.hpp>
#include <pydoca/virtual_time.hpp>

#include "backend/sim/time/due_ring.hpp"
#include "rig/library/comch_rig.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <vector>

namespace pydoca::comch {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

TEST(DueRing, GivesMomentsInTheirOrder) {
  sim::DueRing ring(2);
  EXPECT_TRUE(ring.empty());
  for (std::uint64_t due = 1; due < 10; ++due) {
    ring.push(due);
    ring.push(due + 100);
    EXPECT_TRUE(ring.full());
    EXPECT_EQ(ring.front(), due);
    ring.pop();
    EXPECT_EQ(ring.front(), due + 100);
    ring.pop();
    EXPECT_TRUE(ring.empty());
  }
}

/// A server and a client on one engine, whose messages have the model that the test gives.
class ModelledComch : public Comch {
 protected:
  void connect(const sim::OperationTiming& send, std::optional<double> pcie_bandwidth = std::nullopt,
               std::uint64_t seed = 0) {
    sim::Config config;
    config.seed = seed;
    config.timing.operations["comch_send"] = send;
    config.timing.pcie_bandwidth = pcie_bandwidth;
    sim::set_config(config);
    engine = ProgressEngine::create();
    server.emplace("copy", engine);
    client.emplace("copy", engine);
    server->start();
    client->start();
    ASSERT_TRUE(run_for([&] { return client->is(ContextState::running) && !server->events.connected.empty(); }));
    server->events.on_message = [this](Connection&, std::span<const std::byte>) { arrivals.push_back(since_begin()); };
    client->events.on_sent = [this](SendTask& task) {
      completions.push_back(since_begin());
      EXPECT_EQ(task.free(), Status::success);
    };
    begin = sim::VirtualTime::now();
  }
  void TearDown() override {
    if (client.has_value()) {
      static_cast<void>(client->context->stop());
      static_cast<void>(server->context->stop());
      EXPECT_TRUE(run_for([&] {
        return client->context->state() == ContextState::idle && server->context->state() == ContextState::idle;
      }));
    }
    client.reset();
    server.reset();
  }
  /// Runs until done, or until nothing more happens for a virtual hour.
  template <class Done>
  bool run_for(Done done) {
    while (!done()) {
      if (engine->progress() == 0 && !engine->wait(3'600'000)) {
        return done();
      }
    }
    return true;
  }
  nanoseconds since_begin() const { return sim::VirtualTime::now() - begin; }
  bool arrive(std::size_t count) {
    return run_for([&] { return arrivals.size() == count && completions.size() == count; });
  }

  sim::VirtualTime time{sim::VirtualTimeOptions{}};
  std::shared_ptr<ProgressEngine> engine;
  std::optional<ServerSide> server;
  std::optional<ClientSide> client;
  const Bytes word = Bytes(8, std::byte{5});  ///< a message that is there until its completion
  nanoseconds begin{0};
  std::vector<nanoseconds> arrivals;
  std::vector<nanoseconds> completions;
};

/// What looks and turns of the engine take meanwhile.
constexpr nanoseconds looks = 2us;

void expect_about(const std::vector<nanoseconds>& moments, const std::vector<nanoseconds>& expected) {
  ASSERT_EQ(moments.size(), expected.size());
  for (std::size_t i = 0; i < moments.size(); ++i) {
    EXPECT_GE(moments[i], expected[i]) << i;
    EXPECT_LT(moments[i], expected[i] + looks) << i;
  }
}

TEST_F(ModelledComch, AMessageArrivesWhenItIsDue) {
  connect({.latency = 5ms});
  EXPECT_EQ(client->send(word), Status::success);
  ASSERT_TRUE(arrive(1));
  expect_about(arrivals, {5ms});
  expect_about(completions, {5ms});
  EXPECT_EQ(server->events.messages.front(), word);
}

TEST_F(ModelledComch, TheTimesOfMessagesRunTogether) {
  connect({.latency = 5ms, .bandwidth = 1e6});
  const Bytes message(1000, std::byte{7});
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(client->send(message), Status::success);
  }
  ASSERT_TRUE(arrive(3));
  expect_about(arrivals, {6ms, 7ms, 8ms});
}

TEST_F(ModelledComch, MessagesCrossTheLinkOfTheirCard) {
  connect({.latency = 1ms}, 1e6);
  const Bytes message(2000, std::byte{7});
  EXPECT_EQ(client->send(message), Status::success);
  EXPECT_EQ(server->send(*server->events.connected.front(), message), Status::success);  // the other direction
  EXPECT_EQ(client->send(message), Status::success);
  ASSERT_TRUE(arrive(2));
  expect_about(arrivals, {3ms, 5ms});
}

TEST_F(ModelledComch, JitterKeepsTheOrder) {
  connect({.latency = 10us, .jitter = sim::Jitter{sim::JitterDistribution::exponential, 100us}}, std::nullopt, 3);
  std::vector<Bytes> messages;
  messages.reserve(20);
  for (int i = 0; i < 20; ++i) {
    messages.emplace_back(1, static_cast<std::byte>(i));
    EXPECT_EQ(client->send(messages.back()), Status::success);
  }
  ASSERT_TRUE(arrive(20));
  EXPECT_EQ(server->events.messages, messages);
  EXPECT_TRUE(std::ranges::is_sorted(arrivals));
  EXPECT_GT(arrivals.back(), 100us);
}

TEST_F(ModelledComch, AFullQueueAnswersAgain) {
  connect({.latency = 5ms, .queue_depth = 2});
  const Bytes message(8, std::byte{1});
  EXPECT_EQ(client->send(message), Status::success);
  EXPECT_EQ(client->send(message), Status::success);
  SendTask* third = nullptr;
  ASSERT_EQ(client->context->send(*client->context->connection(), message, 0, third), Status::success);
  EXPECT_EQ(third->submit(), Status::again);
  ASSERT_TRUE(arrive(2));
  EXPECT_EQ(third->submit(), Status::success);
  ASSERT_TRUE(arrive(3));
  expect_about(arrivals, {5ms, 5ms, 10ms});
}

TEST_F(ModelledComch, APausedConnectionSends) {
  connect({.latency = 5ms});
  client->context->connection()->pause();
  EXPECT_EQ(client->send(word), Status::success);
  EXPECT_EQ(server->send(*server->events.connected.front(), word), Status::success);
  ASSERT_TRUE(arrive(1));
  expect_about(arrivals, {5ms});
  EXPECT_TRUE(client->events.messages.empty());
  client->context->connection()->resume();
  ASSERT_TRUE(run_for([&] { return client->events.messages.size() == 1; }));
}

TEST_F(ModelledComch, MoreThanThePeerTakesWaitsForRoom) {
  connect({.latency = 1us});
  server->events.connected.front()->pause();
  const Bytes message(4000, std::byte{1});
  std::size_t sent = 0;
  while (client->send(message) == Status::success) {  // the loop ends when no task is left
    ++sent;
  }
  static_cast<void>(run_for([&] { return false; }));
  server->events.connected.front()->resume();
  ASSERT_TRUE(arrive(sent));
}

TEST_F(ModelledComch, AStopEndsWhatIsNotDue) {
  connect({.latency = 1h});
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(client->send(word), Status::success);
  }
  static_cast<void>(client->context->stop());
  ASSERT_TRUE(run_for([&] { return client->context->state() == ContextState::idle; }));
  EXPECT_LT(since_begin(), 1ms);
  EXPECT_EQ(client->events.sent, std::vector(3, Status::shutdown));
  EXPECT_TRUE(server->events.messages.empty());
}

TEST_F(ModelledComch, ARemovalEndsWhatIsNotDue) {
  connect({.latency = 1h});
  EXPECT_EQ(client->send(word), Status::success);
  sim::remove_device("pf0");
  ASSERT_TRUE(run_for([&] { return client->events.sent.size() == 1; }));
  EXPECT_LT(since_begin(), 1ms);
  EXPECT_NE(client->events.sent.front(), Status::success);
}

TEST_F(ModelledComch, ThePeersEndIsNoticed) {
  connect({.latency = 1h});
  EXPECT_EQ(client->send(word), Status::success);
  static_cast<void>(server->context->stop());
  ASSERT_TRUE(run_for([&] { return client->events.sent.size() == 1; }));
  EXPECT_EQ(client->events.sent.front(), Status::connection_reset);
}

}  // namespace
}  // namespace pydoca::comch
