/// Traces of the processes of one fabric.
#include "pydoca/trace.hpp"

#include "backend/sim/fabric/fabric.hpp"
#include "backend/sim/message/fd_message.hpp"
#include "backend/sim/trace/members.hpp"
#include "backend/sim/trace/trace_protocol.hpp"
#include "rig/library/comch_rig.hpp"
#include "rig/process/process_rig.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <functional>
#include <map>
#include <poll.h>
#include <string>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace pydoca::sim {
namespace {

using comch::ClientSide;
using comch::Connection;
using comch::run_until;
using comch::ServerSide;

/// Messages, by connection and number.
std::map<std::pair<std::uint64_t, std::uint64_t>, TraceEvent> messages(const Trace& trace, TraceEventKind kind,
                                                                       std::uint16_t process) {
  std::map<std::pair<std::uint64_t, std::uint64_t>, TraceEvent> found;
  for (const TraceEvent& event : trace.events()) {
    if (event.kind == kind && event.process == process) {
      found[{event.id, event.value}] = event;
    }
  }
  return found;
}

/// Looks again and again: nothing announces what these tests wait for.
bool comes_true(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) {
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

class FabricTrace : public FabricTest {
 protected:
  static constexpr std::size_t count = 8;

  /// Echoes until it is killed, or its client leaves.
  static int echo() {
    ServerSide server;
    std::string copy;
    server.start().events.on_message = [&](Connection& connection, std::span<const std::byte> message) {
      copy.assign(reinterpret_cast<const char*>(message.data()), message.size());
      if (server.send(connection, std::as_bytes(std::span(copy))) != Status::success) {
        std::abort();
      }
    };
    return run_until({server.engine.get()}, [&] { return server.events.disconnected == 1; }) ? 0 : 1;
  }

  static bool connect(ClientSide& client) {
    client.start();
    return run_until({client.engine.get()}, [&] { return client.is(ContextState::running); });
  }
  static bool exchange(ClientSide& client) {
    const std::string text = "message";
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t known = client.events.messages.size();
      if (client.send(std::as_bytes(std::span(text))) != Status::success ||
          !run_until({client.engine.get()}, [&] { return client.events.messages.size() == known + 1; })) {
        return false;
      }
    }
    return true;
  }
  static void expect_both_ways(const Trace& trace) {
    ASSERT_EQ(trace.processes().size(), 2U);
    for (const auto& [from, to] : {std::pair{0, 1}, std::pair{1, 0}}) {
      const auto sent = messages(trace, TraceEventKind::sent, static_cast<std::uint16_t>(from));
      const auto received = messages(trace, TraceEventKind::received, static_cast<std::uint16_t>(to));
      // A process that is killed may have sent a message, and not recorded it.
      EXPECT_GE(sent.size(), count - 1);
      EXPECT_GE(received.size(), count - 1);
      for (const auto& [message, event] : received) {
        if (!sent.contains(message)) {
          continue;
        }
        EXPECT_LE(sent.at(message).time, event.time) << "one time for all processes";
        EXPECT_EQ(event.bytes, std::string("message").size());
      }
    }
  }
};

TEST_F(FabricTrace, HasTheMessagesOfBothProcesses) {
  ChildProcess server(echo);
  ClientSide client;
  ASSERT_TRUE(connect(client));
  const auto running = Trace::start();
  ASSERT_TRUE(exchange(client));
  running->stop();
  expect_both_ways(*running);
  EXPECT_TRUE(client.stop());
  EXPECT_EQ(server.wait(), 0);
}

TEST_F(FabricTrace, HasAProcessThatComesLater) {
  ChildProcess server(
      [] { return comes_true([] { return !addresses_of(sim::fabric(), tracer_purpose).empty(); }) ? echo() : 1; });
  const auto running = Trace::start();
  ClientSide client;
  ASSERT_TRUE(connect(client));
  ASSERT_TRUE(exchange(client));
  running->stop();
  expect_both_ways(*running);
  EXPECT_TRUE(client.stop());
  EXPECT_EQ(server.wait(), 0);
}

TEST_F(FabricTrace, KeepsWhatAKilledProcessRecorded) {
  ChildProcess server(echo);
  ClientSide client;
  ASSERT_TRUE(connect(client));
  const auto running = Trace::start();
  ASSERT_TRUE(exchange(client));
  server.kill();
  ASSERT_TRUE(run_until({client.engine.get()}, [&] { return !client.is(ContextState::running); }));
  running->stop();
  expect_both_ways(*running);
}

TEST_F(FabricTrace, LeavesNothingWhenTheTracerIsKilled) {
  ChildProcess tracer([] {
    const auto device = Device::open(find_device("p1"));
    const auto running = Trace::start();
    return comes_true([] { return false; }) ? 0 : 1;
  });
  ClientSide client;
  client.start();
  ASSERT_TRUE(comes_true([] { return trace::is_on(); }));
  tracer.kill();
  EXPECT_TRUE(comes_true([] { return !trace::is_on(); }));
}

TEST_F(FabricTrace, StopsInAForkedChildOnlyInTheParent) {
  const auto running = Trace::start();
  wait_until_other_threads_sleep();
  const pid_t child = ::fork();
  if (child == 0) {
    int code = trace::is_on() ? 1 : 0;
    try {
      running->stop();
      code |= 2;
    } catch (const Error& error) {
      code |= error.status() == Status::bad_state ? 0 : 4;
    }
    ::_exit(code);
  }
  EXPECT_EQ(exit_code_of(child), 0);
  EXPECT_TRUE(trace::is_on());
  running->stop();
  EXPECT_EQ(running->processes().size(), 1U);
}

/// Answers tracers, one after another, with files that are not recordings. Counts the event once it listens: the
/// address is there earlier, and refuses.
int answer_with_other_files(const std::string& fabric, const detail::Fd& listens) {
  const ListeningSocket socket = listen_at_new(fabric_address(fabric, member_purpose, "hostile"), 4);
  ::eventfd_write(listens.get(), 1);
  std::vector<detail::Fd> files;
  files.emplace_back(::memfd_create("unsealed", MFD_CLOEXEC));
  files.emplace_back(::memfd_create("empty", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  files.emplace_back(::open("/dev/zero", O_RDONLY | O_CLOEXEC));
  ::fcntl(files[1].get(), F_ADD_SEALS, F_SEAL_SHRINK);
  for (const detail::Fd& file : files) {
    pollfd incoming{.fd = socket.fd.get(), .events = POLLIN, .revents = 0};
    ::poll(&incoming, 1, 10000);
    Status status = Status::success;
    const detail::Fd tracer = accept_peer(socket.fd.get(), status);
    const TraceReply reply;
    const int number = file.get();
    if (send_message(tracer.get(), std::as_bytes(std::span(&reply, 1)), std::span(&number, 1)) != Status::success) {
      return 1;
    }
    pollfd end{.fd = tracer.get(), .events = POLLRDHUP, .revents = 0};
    ::poll(&end, 1, 10000);
  }
  return 0;
}

TEST_F(FabricTrace, IgnoresFilesThatAreNotRecordings) {
  const detail::Fd listens(::eventfd(0, EFD_CLOEXEC));
  ChildProcess peer([&] { return answer_with_other_files(fabric_, listens); });
  pollfd listening{.fd = listens.get(), .events = POLLIN, .revents = 0};
  ASSERT_EQ(::poll(&listening, 1, 10000), 1);
  for (int file = 0; file < 3; ++file) {
    const auto running = Trace::start();
    running->stop();
    EXPECT_EQ(running->processes().size(), 1U);
  }
  EXPECT_EQ(peer.wait(), 0);
}

TEST_F(FabricTrace, EndsConnectionsThatAskForTheImpossible) {
  ClientSide client;
  client.start();
  for (const TraceRequest& request : {TraceRequest{.protocol = 99, .capacity = 1024}, TraceRequest{.capacity = 1000},
                                      TraceRequest{.capacity = 1U << 30U}}) {
    const auto members = addresses_of(fabric_, member_purpose);
    ASSERT_EQ(members.size(), 1U);
    Status status = Status::success;
    const detail::Fd member = connect_to(members[0], status);
    ASSERT_EQ(status, Status::success);
    ASSERT_EQ(send_message(member.get(), std::as_bytes(std::span(&request, 1)), {}), Status::success);
    pollfd end{.fd = member.get(), .events = POLLIN, .revents = 0};
    ASSERT_EQ(::poll(&end, 1, 10000), 1);
    char byte = 0;
    EXPECT_LE(::recv(member.get(), &byte, 1, 0), 0);
    EXPECT_FALSE(trace::is_on());
  }
}

}  // namespace
}  // namespace pydoca::sim
