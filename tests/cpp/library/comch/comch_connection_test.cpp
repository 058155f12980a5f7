#include "pydoca/comch.hpp"

#include "rig/allocation_counter.hpp"
#include "rig/expect_error.hpp"
#include "rig/library/comch_rig.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <thread>
#include <vector>

namespace pydoca::comch {
namespace {

using ComchConnection = Comch;
using ComchSend = Comch;

TEST_F(Comch, EchoesEveryLengthInOrder) {
  ServerSide server;
  server.start();
  ClientSide client("copy", nullptr, 64);
  client.start();
  meet(server, client);
  server.events.on_message = [&](Connection& connection, std::span<const std::byte> message) {
    auto* copy = new Bytes(message.begin(), message.end());
    SendTask* task = nullptr;
    ASSERT_EQ(server.context->send(connection, *copy, std::bit_cast<std::uint64_t>(copy), task), Status::success);
    ASSERT_EQ(task->submit(), Status::success);
  };
  server.events.on_sent = [](SendTask& task) {
    delete std::bit_cast<Bytes*>(task.user_data());
    EXPECT_EQ(task.free(), Status::success);
  };
  const Bytes bytes = pattern(4080);
  for (std::size_t length = 0; length <= bytes.size(); ++length) {
    if (length % 16 == 0) {
      ASSERT_TRUE(run_until({server.engine.get(), client.engine.get()},
                            [&] { return client.events.messages.size() == length; }));
    }
    ASSERT_EQ(client.send(std::span(bytes).first(length)), Status::success) << length;
  }
  ASSERT_TRUE(run_until({server.engine.get(), client.engine.get()}, [&] {
    return client.events.messages.size() == 4081 && server.context->num_allocated_tasks() == 0;
  }));
  for (std::size_t length = 0; length <= bytes.size(); ++length) {
    ASSERT_TRUE(same(client.events.messages[length], std::span(bytes).first(length))) << length;
  }
  EXPECT_TRUE(std::ranges::all_of(client.events.sent, [](Status status) { return status == Status::success; }));
}

TEST_F(Comch, OneEngineServesBothSides) {
  const auto engine = ProgressEngine::create();
  ServerSide server("copy", engine);
  server.start();
  ClientSide client("copy", engine);
  client.start();
  meet(server, client);
  const Bytes message = pattern(100);
  EXPECT_EQ(client.send(message), Status::success);
  EXPECT_EQ(server.send(*server.events.connected[0], message), Status::success);
  ASSERT_TRUE(run_until({engine.get()}, [&] {
    return client.events.messages.size() == 1 && server.events.messages.size() == 1 &&
           engine->num_inflight_tasks() == 0;
  }));
  EXPECT_EQ(client.events.messages[0], message);
  EXPECT_EQ(server.events.messages[0], message);
}

TEST_F(Comch, TwoThreadsTalk) {
  ServerSide server;
  server.start();
  constexpr std::size_t count = 2000;
  std::thread host([&] {
    ClientSide client;
    client.start();
    ASSERT_TRUE(run_until({client.engine.get()}, [&] { return client.is(ContextState::running); }));
    const Bytes message = pattern(500);
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_TRUE(run_until({client.engine.get()}, [&] { return client.context->num_allocated_tasks() < 32; }));
      ASSERT_EQ(client.send(std::span(message).first(i % 500)), Status::success);
    }
    ASSERT_TRUE(run_until({client.engine.get()}, [&] { return client.context->num_allocated_tasks() == 0; }));
    ASSERT_TRUE(client.stop());
  });
  EXPECT_TRUE(run_until({server.engine.get()}, [&] { return server.events.disconnected == 1; }));
  host.join();
  ASSERT_EQ(server.events.messages.size(), count) << "messages that were sent before the end arrive";
  for (std::size_t i = 0; i < count; ++i) {
    ASSERT_EQ(server.events.messages[i].size(), i % 500);
  }
}

TEST_F(ComchConnection, CountsMessagesAndBytes) {
  ServerSide server;
  server.start();
  ClientSide client;
  client.start();
  client.engine->progress();
  meet(server, client);
  Connection& mine = *client.context->connection();
  Connection& theirs = *server.events.connected[0];
  const Bytes message = pattern(100);
  EXPECT_EQ(client.send(message), Status::success);
  EXPECT_EQ(client.send(std::span(message).first(11)), Status::success);
  ASSERT_TRUE(
      run_until({server.engine.get(), client.engine.get()}, [&] { return server.events.messages.size() == 2; }));
  EXPECT_EQ(mine.counter(Counter::sent_messages), 0U) << "the counters are a snapshot";
  mine.update_info();
  theirs.update_info();
  EXPECT_EQ(mine.counter(Counter::sent_messages), 2U);
  EXPECT_EQ(mine.counter(Counter::sent_bytes), 111U);
  EXPECT_EQ(mine.counter(Counter::recv_messages), 0U);
  EXPECT_EQ(theirs.counter(Counter::recv_messages), 2U);
  EXPECT_EQ(theirs.counter(Counter::recv_bytes), 111U);
  EXPECT_EQ(thrown_by([&] { static_cast<void>(mine.counter(static_cast<Counter>(5))); }), Status::invalid_value);
}

TEST_F(ComchConnection, TakesTheSmallerMessageLimit) {
  ServerSide server;
  server.context->set_max_msg_size(50);
  server.start();
  ClientSide client;
  client.start();
  meet(server, client);
  EXPECT_EQ(client.context->connection()->max_msg_size(), 50U);
  EXPECT_EQ(client.send(pattern(51)), Status::invalid_value);
  EXPECT_EQ(client.send(pattern(50)), Status::success);
}

TEST_F(ComchConnection, APausedReceiverHoldsTheSenderBack) {
  ServerSide server;
  server.context->set_recv_queue_size(4);
  server.start();
  ClientSide client("copy", nullptr, 64);
  client.start();
  meet(server, client);
  Connection& inbox = *server.events.connected[0];
  inbox.pause();
  EXPECT_TRUE(inbox.is_paused());
  const Bytes bytes = pattern(4080);
  for (std::size_t i = 0; i < 64; ++i) {
    ASSERT_EQ(client.send(std::span(bytes).first(4000 + i)), Status::success);
  }
  SendTask* task = nullptr;
  EXPECT_EQ(client.context->send(*client.context->connection(), bytes, 0, task), Status::no_memory);
  while (client.engine->progress() != 0 || server.engine->progress() != 0) {
  }
  EXPECT_TRUE(server.events.messages.empty());
  EXPECT_LE(client.events.sent.size(), 8U) << "the size of the queue";
  EXPECT_GE(client.events.sent.size(), 4U);
  // A bounded inbox: two at a time.
  server.events.on_message = [&](Connection& connection, std::span<const std::byte> /*message*/) {
    if (server.events.messages.size() % 2 == 0) {
      connection.pause();
    }
  };
  for (std::size_t taken = 2; taken <= 64; taken += 2) {
    inbox.resume();
    ASSERT_TRUE(
        run_until({server.engine.get(), client.engine.get()}, [&] { return server.events.messages.size() == taken; }));
    EXPECT_LE(client.events.sent.size(), taken + 8);
  }
  ASSERT_TRUE(run_until({client.engine.get()}, [&] { return client.events.sent.size() == 64; }));
  for (std::size_t i = 0; i < 64; ++i) {
    ASSERT_EQ(server.events.messages[i].size(), 4000 + i) << "in order";
  }
}

TEST_F(ComchConnection, APausedReceiverStillSends) {
  ServerSide server;
  server.start();
  ClientSide client;
  client.start();
  meet(server, client);
  client.context->connection()->pause();
  EXPECT_EQ(client.send(pattern(5)), Status::success);
  ASSERT_TRUE(run_until({server.engine.get(), client.engine.get()},
                        [&] { return server.events.messages.size() == 1 && client.events.sent.size() == 1; }));
}

TEST_F(ComchConnection, ADeadPeersMessagesWaitForAPausedReceiver) {
  ServerSide server;
  server.start();
  {
    ClientSide client;
    client.start();
    meet(server, client);
    server.events.connected[0]->pause();
    for (int i = 0; i < 3; ++i) {
      ASSERT_EQ(client.send(pattern(7)), Status::success);
    }
    while (client.engine->progress() != 0) {
    }
  }
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(server.engine->progress(), 0);
  }
  server.engine->request_notification();
  pollfd handle{.fd = server.engine->notification_handle(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&handle, 1, 0), 0) << "the hang-up does not keep the engine awake";
  server.engine->clear_notification();
  EXPECT_EQ(server.events.disconnected, 0);
  EXPECT_EQ(server.send(*server.events.connected[0], pattern(1)), Status::success);
  ASSERT_TRUE(run_until({server.engine.get()}, [&] { return server.events.sent.size() == 1; }));
  EXPECT_EQ(server.events.sent[0], Status::connection_reset);
  server.events.connected[0]->resume();
  ASSERT_TRUE(run_until({server.engine.get()}, [&] { return server.events.disconnected == 1; }));
  EXPECT_EQ(server.events.messages.size(), 3U);
  EXPECT_EQ(server.context->state(), ContextState::running);
}

TEST_F(ComchSend, RefusesWhatCannotBe) {
  ServerSide server;
  server.start();
  ClientSide client("copy", nullptr, 2);
  SendTask* task = nullptr;
  client.start();
  meet(server, client);
  Connection& connection = *client.context->connection();
  EXPECT_EQ(client.send(pattern(4081)), Status::invalid_value);
  EXPECT_EQ(client.context->send(*server.events.connected[0], {}, 0, task), Status::invalid_value);
  EXPECT_EQ(client.context->send(connection, pattern(1), 5, task), Status::success);
  EXPECT_EQ(task->user_data(), 5U);
  EXPECT_EQ(task->connection().get(), &connection);
  EXPECT_EQ(task->set_message(pattern(4081)), Status::invalid_value);
  SendTask* other = nullptr;
  EXPECT_EQ(client.context->send(connection, {}, 0, other), Status::success);
  EXPECT_EQ(client.context->send(connection, {}, 0, other), Status::no_memory);
  EXPECT_EQ(other->try_submit(), Status::success);
  EXPECT_EQ(other->submit(), Status::bad_state);
  EXPECT_EQ(other->set_message({}), Status::in_use);
  EXPECT_EQ(other->free(), Status::in_use);
  EXPECT_TRUE(client.events.sent.empty()) << "submit never completes a task";
  ASSERT_TRUE(run_until({client.engine.get()}, [&] { return client.events.sent.size() == 1; }));
  EXPECT_EQ(task->free(), Status::success);
  const auto kept = client.context->connection();
  EXPECT_TRUE(client.stop());
  EXPECT_EQ(client.context->send(*kept, {}, 0, task), Status::bad_state);
}

TEST_F(ComchSend, TheBytesOfAMessageMayChangeOnceItIsSubmitted) {
  ServerSide server;
  server.context->set_recv_queue_size(2);
  server.start();
  ClientSide client("copy", nullptr, 64);
  client.start();
  meet(server, client);
  const std::vector<ProgressEngine*> engines{server.engine.get(), client.engine.get()};
  constexpr std::size_t count = 1000;
  const Bytes first = pattern(4000);
  Bytes bytes(first.size());
  for (std::size_t i = 0; i < count; ++i) {
    ASSERT_TRUE(run_until(engines, [&] { return client.context->num_allocated_tasks() < 64; }));
    std::ranges::rotate_copy(first, first.begin() + static_cast<std::ptrdiff_t>(i), bytes.begin());
    const std::uint64_t before = num_allocations();
    ASSERT_EQ(client.send(bytes), Status::success);
    EXPECT_EQ(num_allocations() - before, 0U);
    std::ranges::fill(bytes, std::byte{0xff});
  }
  ASSERT_TRUE(run_until(engines, [&] { return server.events.messages.size() == count; }));
  for (std::size_t i = 0; i < count; ++i) {
    std::ranges::rotate_copy(first, first.begin() + static_cast<std::ptrdiff_t>(i), bytes.begin());
    ASSERT_EQ(server.events.messages[i], bytes) << i;
  }
}

TEST_F(ComchConnection, AReceivedMessageMayBeWrittenToAndEndsWithAZero) {
  ServerSide server;
  server.start();
  ClientSide client;
  client.start();
  meet(server, client);
  server.events.on_message = [](Connection& /*connection*/, std::span<const std::byte> message) {
    auto* const bytes = const_cast<std::byte*>(message.data());
    EXPECT_EQ(bytes[message.size()], std::byte{0}) << message.size();
    std::fill_n(bytes, message.size() + 1, std::byte{0xee});
  };
  const Bytes bytes = pattern(4080);
  for (const std::size_t length : {std::size_t{4080}, std::size_t{0}, std::size_t{9}}) {
    ASSERT_EQ(client.send(std::span(bytes).first(length)), Status::success);
  }
  ASSERT_TRUE(
      run_until({server.engine.get(), client.engine.get()}, [&] { return server.events.messages.size() == 3; }));
  EXPECT_EQ(server.events.messages[0], bytes);
}

TEST_F(ComchSend, ATaskMayBeSentAgainFromItsCallback) {
  ServerSide server;
  server.start();
  ClientSide client;
  client.start();
  meet(server, client);
  int left = 99;
  client.events.on_sent = [&](SendTask& task) {
    if (left-- > 0) {
      EXPECT_EQ(task.submit(), Status::success);
    } else {
      EXPECT_EQ(task.free(), Status::success);
    }
  };
  const Bytes message = pattern(20);
  EXPECT_EQ(client.send(message), Status::success);
  ASSERT_TRUE(run_until({server.engine.get(), client.engine.get()}, [&] {
    return server.events.messages.size() == 100 && client.context->num_allocated_tasks() == 0;
  }));
}

TEST_F(ComchSend, ToAClientThatIsGoneFailsAloneAndTheServerGoesOn) {
  ServerSide server;
  server.start();
  auto doomed = std::make_unique<ClientSide>();
  doomed->start();
  meet(server, *doomed);
  ClientSide other;
  other.start();
  meet(server, other);
  const auto gone = server.events.connected[0];
  SendTask* early = nullptr;
  ASSERT_EQ(server.context->send(*gone, pattern(3), 0, early), Status::success);
  doomed.reset();
  EXPECT_EQ(server.send(*gone, pattern(3)), Status::success) << "the end is not known yet";
  ASSERT_TRUE(run_until({server.engine.get()}, [&] { return server.events.disconnected == 1; }));
  EXPECT_EQ(server.events.sent, std::vector{Status::connection_reset});
  EXPECT_EQ(server.send(*gone, pattern(3)), Status::not_connected);
  EXPECT_EQ(early->submit(), Status::success);
  ASSERT_TRUE(run_until({server.engine.get()}, [&] { return server.events.sent.size() == 2; }));
  EXPECT_EQ(server.events.sent[1], Status::connection_reset);
  EXPECT_EQ(server.context->state(), ContextState::running);
  EXPECT_EQ(server.send(*server.events.connected[1], pattern(3)), Status::success);
  ASSERT_TRUE(run_until({server.engine.get(), other.engine.get()}, [&] { return other.events.messages.size() == 1; }));
}

TEST_F(ComchSend, ThatWaitsIsFlushedByStop) {
  ServerSide server;
  server.context->set_recv_queue_size(1);
  server.start();
  ClientSide client("copy", nullptr, 40);
  client.start();
  meet(server, client);
  server.events.connected[0]->pause();
  const Bytes message = pattern(4080);
  for (int i = 0; i < 40; ++i) {
    ASSERT_EQ(client.send(message), Status::success);
  }
  EXPECT_EQ(client.context->stop(), Status::in_progress);
  SendTask* task = nullptr;
  EXPECT_EQ(client.context->send(*server.events.connected[0], message, 0, task), Status::bad_state);
  ASSERT_TRUE(run_until({client.engine.get()}, [&] { return client.is(ContextState::idle); }));
  ASSERT_EQ(client.events.sent.size(), 40U);
  const auto on_their_way = std::ranges::count(client.events.sent, Status::success);
  EXPECT_EQ(on_their_way + std::ranges::count(client.events.sent, Status::shutdown), 40);
  EXPECT_LE(on_their_way, 8);
  EXPECT_EQ(client.context->failure(), Status::success);
  server.events.connected[0]->resume();
  ASSERT_TRUE(run_until({server.engine.get()}, [&] { return server.events.disconnected == 1; }));
  EXPECT_EQ(server.events.messages.size(), static_cast<std::size_t>(on_their_way));
}

TEST_F(ComchSend, ThatWaitsFailsWhenTheServerDisconnects) {
  ServerSide server;
  server.context->set_recv_queue_size(1);
  server.start();
  ClientSide client("copy", nullptr, 40);
  client.start();
  meet(server, client);
  server.events.connected[0]->pause();
  const Bytes message = pattern(4080);
  for (int i = 0; i < 40; ++i) {
    ASSERT_EQ(client.send(message), Status::success);
  }
  server.context->disconnect(*server.events.connected[0]);
  ASSERT_TRUE(run_until({server.engine.get(), client.engine.get()}, [&] { return client.is(ContextState::idle); }));
  EXPECT_EQ(client.events.sent.size(), 40U);
  EXPECT_GE(std::ranges::count(client.events.sent, Status::connection_reset), 32);
  EXPECT_EQ(client.context->failure(), Status::connection_reset);
}

TEST_F(ComchSend, StoppingLastsUntilTheTasksAreFreed) {
  ServerSide server;
  server.start();
  ClientSide client;
  client.start();
  meet(server, client);
  SendTask* task = nullptr;
  ASSERT_EQ(client.context->send(*client.context->connection(), {}, 0, task), Status::success);
  EXPECT_EQ(client.context->stop(), Status::in_progress);
  while (client.engine->progress() != 0) {
  }
  EXPECT_TRUE(client.is(ContextState::stopping));
  EXPECT_EQ(task->submit(), Status::bad_state);
  EXPECT_EQ(task->free(), Status::success);
  ASSERT_TRUE(run_until({client.engine.get()}, [&] { return client.is(ContextState::idle); }));
}

/// A server and a client that were connected when the client's device was removed.
class ComchRemoval : public Comch {
 protected:
  ComchRemoval() {
    server_.start();
    client_.start();
    meet(server_, client_);
    sim::remove_device("pf0");
  }
  ~ComchRemoval() override { sim::restore_device("pf0"); }

  ServerSide server_;
  ClientSide client_;
};

TEST_F(ComchRemoval, FailsASendAndStopsTheContext) {
  EXPECT_EQ(client_.send(pattern(3)), Status::success);
  ASSERT_TRUE(run_until({client_.engine.get()}, [&] { return client_.is(ContextState::idle); }));
  EXPECT_EQ(client_.events.sent, std::vector{Status::driver});
  EXPECT_EQ(client_.context->failure(), Status::driver);
  ASSERT_TRUE(run_until({server_.engine.get()}, [&] { return server_.events.disconnected == 1; }));
  EXPECT_EQ(thrown_by([&] { return client_.context->start(); }), Status::driver);
}

TEST_F(ComchRemoval, StopsWhoOnlyListens) {
  ASSERT_TRUE(run_until({client_.engine.get()}, [&] { return client_.is(ContextState::idle); }));
  EXPECT_EQ(client_.context->failure(), Status::driver);
  ASSERT_TRUE(run_until({server_.engine.get()}, [&] { return server_.events.disconnected == 1; }));
}

TEST_F(Comch, DestroyingRunningContextsLeavesHandlesHarmless) {
  std::shared_ptr<Connection> theirs;
  std::shared_ptr<Connection> mine;
  {
    ServerSide server;
    server.start();
    ClientSide client;
    client.start();
    meet(server, client);
    theirs = server.events.connected[0];
    mine = client.context->connection();
    const Bytes message = pattern(4080);
    for (int i = 0; i < 32; ++i) {
      ASSERT_EQ(client.send(message), Status::success);
    }
  }
  for (const auto& connection : {theirs, mine}) {
    EXPECT_FALSE(connection->is_connected());
    EXPECT_EQ(connection->endpoint(), nullptr);
    connection->pause();
    connection->resume();
  }
}

TEST_F(Comch, TheDataPathDoesNotAllocate) {
  static std::size_t received = 0;
  received = 0;
  const auto engine = ProgressEngine::create();
  ServerSide server("copy", engine);
  ClientSide client("copy", engine);
  const auto free_task = [](Task& task, std::uint64_t, std::uint64_t) noexcept { static_cast<void>(task.free()); };
  server.context->set_send_conf(free_task, free_task, 32);
  client.context->set_message_received(
      [](Connection&, std::span<const std::byte>, std::uint64_t) noexcept { ++received; });
  server.start();
  client.start();
  meet(server, client);
  Connection& connection = *server.events.connected[0];
  const Bytes message = pattern(1000);
  const std::uint64_t before = num_allocations();
  for (int round = 0; round < 50; ++round) {
    for (int i = 0; i < 32; ++i) {
      SendTask* task = nullptr;
      if (server.context->send(connection, message, 0, task) == Status::success) {
        static_cast<void>(task->submit());
      }
    }
    while (engine->progress() != 0) {
    }
  }
  EXPECT_EQ(num_allocations() - before, 0U);
  EXPECT_EQ(received, 1600U);
}

}  // namespace
}  // namespace pydoca::comch
