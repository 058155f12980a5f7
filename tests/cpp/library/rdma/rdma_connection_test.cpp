/// How connections begin and end, in one process.

#include "rig/expect_error.hpp"
#include "rig/library/rdma_rig.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

namespace pydoca {
namespace {

using State = RdmaConnection::State;
using testing::IsEmpty;
using testing::SizeIs;

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

class RdmaConnecting : public RdmaTest {};

TEST_F(RdmaConnecting, BothEndsHearThatTheyAreEstablished) {
  connect();
  EXPECT_TRUE(ab->is_connected());
  EXPECT_TRUE(ba->is_connected());
  EXPECT_LT(ab->details().size(), 512U);
  EXPECT_EQ(ab->rdma(), a->rdma.get());
  EXPECT_EQ(thrown_by([&] { static_cast<void>(ab->addr()); }), Status::invalid_value);
}

TEST_F(RdmaConnecting, IsReportedBeforeTheFirstCompletionOnIt) {
  start();
  connect_again();
  std::size_t before = 0;
  const auto note = [&](RdmaRig& rig) {
    rig.on_completion = [&](RdmaTask& task) {
      before += rig.ups.size() == 1 && task.connection() == rig.ups[0] ? 1U : 0U;
    };
  };
  note(*a);
  note(*b);
  const NetMemory memory(b->device, 64);
  const NetMemory sent(a->device, 64);
  b->submit(&Rdma::receive, b->room(memory, 0, 64));
  for (int i = 0; i < 3; ++i) {
    a->submit(&Rdma::write, *ab, a->data(sent, 0, 8), a->room(imported(memory), memory.addr(), 8));
  }
  a->submit(&Rdma::send, *ab, a->data(sent, 0, 8));
  ASSERT_TRUE(run(4, 1));
  EXPECT_EQ(before, 5U);
}

TEST_F(RdmaConnecting, NeedsARunningContext) {
  EXPECT_EQ(thrown_by([&] { a->rdma->export_connection(); }), Status::bad_state);
  EXPECT_EQ(thrown_by([&] { a->rdma->start_listen_to_port(1); }), Status::bad_state);
  RdmaTask* task = nullptr;
  EXPECT_EQ(a->rdma->receive(nullptr, 0, task), Status::bad_state);
}

TEST_F(RdmaConnecting, ThereAreAsManyConnectionsAsConfigured) {
  start();
  const auto only = a->rdma->export_connection();
  EXPECT_EQ(thrown_by([&] { a->rdma->export_connection(); }), Status::full);
  EXPECT_EQ(thrown_by([&] { a->rdma->connect_to_addr(address_of(*b->device, port)); }), Status::connection_aborted);
}

TEST_F(RdmaConnecting, OnceOnly) {
  connect();
  EXPECT_EQ(thrown_by([&] { a->rdma->connect(ba->details(), *ab); }), Status::bad_state);
}

TEST_F(RdmaConnecting, RefusesDetailsThatAreNone) {
  start();
  ab = a->rdma->export_connection();
  ba = b->rdma->export_connection();
  const std::vector<std::byte> good = ba->details();
  for (std::size_t length = 0; length < good.size(); length += 7) {
    EXPECT_EQ(thrown_by([&] { a->rdma->connect(std::span(good).first(length), *ab); }), Status::invalid_value);
  }
  for (std::size_t place = 0; place < good.size(); ++place) {
    std::vector<std::byte> forged = good;
    forged[place] ^= std::byte{0x10};
    const Status status = thrown_by([&] { a->rdma->connect(forged, *ab); });
    EXPECT_TRUE(status == Status::invalid_value || status == Status::unsupported_version) << place;
  }
  const NetMemory memory(b->device, 64);
  EXPECT_EQ(thrown_by([&] { a->rdma->connect(memory.blob, *ab); }), Status::invalid_value)
      << "the blob of a memory map";
  EXPECT_EQ(thrown_by([&] { Mmap::create_from_export(a->device, good); }), Status::invalid_value);
  a->rdma->connect(good, *ab);
  EXPECT_TRUE(ab->is_connected()) << "the connection still works";
}

TEST_F(RdmaConnecting, NotToAPeerThatIsConnectedToAnother) {
  if (!is_simulated()) {
    GTEST_SKIP() << "a queue pair does not take part when another one is set up to reach it";
  }
  connect();
  RdmaRig c("p0");
  EXPECT_EQ(c.rdma->start(), Status::success);
  const auto connection = c.rdma->export_connection();
  EXPECT_EQ(thrown_by([&] { c.rdma->connect(ba->details(), *connection); }), Status::connection_aborted);
  RdmaTask* task = nullptr;
  EXPECT_EQ(c.rdma->send(*connection, nullptr, 0, task), Status::not_connected);
  EXPECT_EQ(c.rdma->send(*ab, nullptr, 0, task), Status::invalid_value) << "a connection of another context";
}

TEST_F(RdmaConnecting, NotToAPeerThatHasGone) {
  if (!is_simulated()) {
    GTEST_SKIP() << "a queue pair does not take part when another one is set up to reach it";
  }
  start();
  ab = a->rdma->export_connection();
  ba = b->rdma->export_connection();
  const std::vector<std::byte> details = ba->details();
  b->stop();
  EXPECT_EQ(thrown_by([&] { a->rdma->connect(details, *ab); }), Status::connection_aborted);
}

TEST_F(RdmaConnecting, TasksMayGoBeforeThePeerHasConnected) {
  start();
  const NetMemory memory(a->device, 64);
  ab = a->rdma->export_connection();
  ba = b->rdma->export_connection();
  a->rdma->connect(ba->details(), *ab);
  const NetMemory there(b->device, 64);
  b->submit(&Rdma::receive, b->room(there, 0, 64));
  a->submit(&Rdma::send, *ab, a->data(memory, 0, 64));
  for (int i = 0; i < 100; ++i) {
    b->pe->progress();
  }
  EXPECT_THAT(b->completions, IsEmpty());
  b->rdma->connect(ab->details(), *ba);
  ASSERT_TRUE(run(1, 1));
  EXPECT_EQ(b->completions[0].status, Status::success);
}

// A real queue pair sends again until its peer is ready. A requester that is quick would otherwise have left by then.
TEST_F(RdmaConnecting, TasksCompleteOnlyOnceThePeerHasConnected) {
  if (!is_simulated()) {
    GTEST_SKIP() << "a queue pair that disconnects flushes requests that the network has not taken";
  }
  start();
  const NetMemory memory(a->device, 64);
  const NetMemory there(b->device, 64);
  ab = a->rdma->export_connection();
  ba = b->rdma->export_connection();
  b->submit(&Rdma::receive, b->room(there, 0, 64));
  a->rdma->connect(ba->details(), *ab);
  a->submit(&Rdma::write, *ab, a->data(memory, 0, 8), a->room(imported(there), there.addr(32), 8));
  a->submit(&Rdma::send, *ab, a->data(memory, 0, 64));
  for (int i = 0; i < 100; ++i) {
    a->pe->progress();
  }
  EXPECT_THAT(a->completions, IsEmpty());
  b->rdma->connect(ab->details(), *ba);
  ASSERT_TRUE(run_until({a.get()}, [&] { return a->completions.size() == 2; }));
  EXPECT_EQ(a->completions[0].status, Status::success);
  EXPECT_EQ(a->completions[1].status, Status::success);
  ab->disconnect();
  ASSERT_TRUE(run_until({a.get()}, [&] { return a->downs.size() == 1; }));
  ASSERT_TRUE(run_until({b.get()}, [&] { return b->downs.size() == 1; }));
  EXPECT_THAT(b->ups, SizeIs(1));
  ASSERT_THAT(b->completions, SizeIs(1));
  EXPECT_EQ(b->completions[0].status, Status::success);
}

TEST_F(RdmaConnecting, TasksThatWaitForThePeerAreFlushedAndEndWithIt) {
  if (!is_simulated()) {
    GTEST_SKIP() << "a queue pair does not take part when another one is set up to reach it";
  }
  start();
  ab = a->rdma->export_connection();
  ba = b->rdma->export_connection();
  a->rdma->connect(ba->details(), *ab);
  a->submit(&Rdma::send, *ab, nullptr);
  ab->disconnect();
  ASSERT_TRUE(run_until({a.get()}, [&] { return a->downs.size() == 1; }));
  ASSERT_THAT(a->completions, SizeIs(1));
  EXPECT_EQ(a->completions[0].status, Status::shutdown);
  EXPECT_EQ(thrown_by([&] { b->rdma->connect(ab->details(), *ba); }), Status::connection_aborted);

  ab = a->rdma->export_connection();
  ba.reset();
  b->stop();
  ASSERT_EQ(b->rdma->start(), Status::success);
  ba = b->rdma->export_connection();
  a->rdma->connect(ba->details(), *ab);
  a->submit(&Rdma::send, *ab, nullptr);
  b->stop();
  ASSERT_TRUE(run_until({a.get()}, [&] { return a->downs.size() == 2; }));
  ASSERT_THAT(a->completions, SizeIs(2));
  EXPECT_EQ(a->completions[1].status, Status::connection_reset);
}

TEST_F(RdmaConnecting, DisconnectingIsHeardAtBothEnds) {
  connect_in_touch();
  ab->disconnect();
  EXPECT_EQ(ab->state(), State::closing);
  ASSERT_TRUE(run([&] { return a->downs.size() == 1 && b->downs.size() == 1; }));
  EXPECT_EQ(ab->state(), State::closed);
  EXPECT_EQ(ab->rdma(), nullptr);
  EXPECT_EQ(ba->failure(), Status::connection_reset);
  EXPECT_EQ(a->rdma->state(), ContextState::running);
  EXPECT_EQ(b->rdma->state(), ContextState::running);
  EXPECT_EQ(thrown_by([&] { ab->disconnect(); }), Status::bad_state);
  EXPECT_THAT(a->rdma->connections(), IsEmpty());
}

TEST_F(RdmaConnecting, DisconnectingFlushesWhatWaitsAtBothEnds) {
  connect_in_touch();
  const NetMemory memory(a->device, 64);
  a->submit(&Rdma::send, *ab, a->data(memory, 0, 64));
  a->submit(&Rdma::send, *ab, a->data(memory, 0, 64));
  b->submit(&Rdma::send, *ba, nullptr);
  a->submit(&Rdma::receive, a->room(memory, 0, 64));
  ASSERT_TRUE(run(1, 1)) << "the message of b, for which a has a receive";
  ab->disconnect();
  ASSERT_TRUE(run([&] { return a->downs.size() == 1 && b->downs.size() == 1; }));
  ASSERT_THAT(a->completions, SizeIs(3));
  EXPECT_EQ(a->completions[1].status, Status::shutdown);
  EXPECT_EQ(a->completions[2].status, Status::shutdown);
  EXPECT_EQ(a->rdma->state(), ContextState::running);
}

TEST_F(RdmaConnecting, ALostPeersTasksFailWithConnectionReset) {
  connect_in_touch();
  b->submit(&Rdma::send, *ba, nullptr);
  ab->disconnect();
  ASSERT_TRUE(run([&] { return b->downs.size() == 1; }));
  ASSERT_THAT(b->completions, SizeIs(1));
  EXPECT_EQ(b->completions[0].status, Status::connection_reset);
  EXPECT_EQ(b->rdma->state(), ContextState::running);
}

TEST_F(RdmaConnecting, WhatWasSentBeforeArrives) {
  if (!is_simulated()) {
    GTEST_SKIP() << "a queue pair that disconnects flushes requests that the network has not taken";
  }
  connect();
  const NetMemory memory(a->device, 64);
  const NetMemory there(b->device, 64);
  b->submit(&Rdma::receive, b->room(there, 0, 64));
  a->submit(&Rdma::send, *ab, a->data(memory, 0, 64));
  ab->disconnect();
  ASSERT_TRUE(run([&] { return b->downs.size() == 1; }));
  ASSERT_THAT(b->completions, SizeIs(1));
  EXPECT_EQ(b->completions[0].status, Status::success);
}

TEST_F(RdmaConnecting, ReceivesOutliveAConnection) {
  connect_in_touch();
  b->submit(&Rdma::receive, nullptr);
  ab->disconnect();
  ASSERT_TRUE(run([&] { return a->downs.size() == 1 && b->downs.size() == 1; }));
  connect_again();
  a->submit(&Rdma::send, *ab, nullptr);
  ASSERT_TRUE(run(1, 1));
  EXPECT_EQ(b->completions[0].connection, ba.get());
}

TEST_F(RdmaConnecting, StoppingReportsEveryEndAndRunsAgain) {
  connect_in_touch();
  b->submit(&Rdma::receive, nullptr);
  EXPECT_EQ(b->rdma->stop(), Status::in_progress);
  ASSERT_TRUE(run([&] { return b->rdma->state() == ContextState::idle && a->downs.size() == 1; }));
  EXPECT_THAT(b->downs, SizeIs(1));
  EXPECT_EQ(b->completions[0].status, Status::shutdown);
  ASSERT_EQ(b->rdma->start(), Status::success);
  connect_again();
  b->submit(&Rdma::receive, nullptr);
  a->submit(&Rdma::send, *ab, nullptr);
  ASSERT_TRUE(run(1, 2));
  EXPECT_EQ(b->completions[1].status, Status::success);
}

TEST_F(RdmaConnecting, AContextDestroyedWhileItRunsLetsItsPeerGo) {
  connect_in_touch();
  b->rdma->set_state_changed(nullptr);
  b->submit(&Rdma::receive, nullptr);
  b->submit(&Rdma::send, *ba, nullptr);
  const std::shared_ptr<ProgressEngine> pe = b->pe;
  b->rdma.reset();
  EXPECT_EQ(ba->state(), State::closed);
  ASSERT_TRUE(run_until({a.get()}, [&] { return a->downs.size() == 1; }));
  b->rdma = Rdma::create(b->device);
  pe->connect(b->rdma);
}

TEST_F(RdmaConnecting, OneContextHasManyPeers) {
  b->rdma->set_max_num_connections(8);
  start();
  std::vector<std::unique_ptr<RdmaRig>> rigs;
  std::vector<std::shared_ptr<RdmaConnection>> theirs;
  for (std::size_t i = 0; i < 8; ++i) {
    b->submit(&Rdma::receive, nullptr);
    rigs.push_back(std::make_unique<RdmaRig>("pf0vf0"));
    EXPECT_EQ(rigs[i]->rdma->start(), Status::success);
    std::shared_ptr<RdmaConnection> there;
    connect_by_details(*rigs[i], *b, there, theirs.emplace_back());
    rigs[i]->submit(&Rdma::send_imm, *there, nullptr, static_cast<std::uint32_t>(i));
  }
  ASSERT_TRUE(run_until({b.get()}, [&] { return b->completions.size() == 8; }));
  for (const RdmaRig::Completion& completion : b->completions) {
    EXPECT_EQ(completion.connection, theirs[completion.immediate].get());
  }
  rigs.resize(4);
  std::ranges::for_each(std::span(theirs).subspan(4), [](const auto& connection) { leave_unless_told(*connection); });
  ASSERT_TRUE(run_until({b.get()}, [&] { return b->downs.size() == 4; }));
  EXPECT_THAT(b->rdma->connections(), SizeIs(4));
}

class RdmaByAddress : public RdmaTest {
 protected:
  RdmaAddress address() const { return address_of(*b->device, port); }
  void listen() {
    start();
    b->rdma->start_listen_to_port(port);
  }
};

TEST_F(RdmaByAddress, ARequestIsAcceptedAndCarriesDataBothWays) {
  listen();
  b->on_request = [](RdmaConnection& connection) { connection.accept(bytes_of("welcome")); };
  ab = a->rdma->connect_to_addr(address(), 7, bytes_of("hello"));
  EXPECT_EQ(ab->state(), State::connecting);
  ASSERT_TRUE(run([&] { return a->ups.size() == 1 && b->ups.size() == 1; }));
  ba = b->requests[0];
  EXPECT_EQ(ba->private_data(), bytes_of("hello"));
  EXPECT_EQ(ab->private_data(), bytes_of("welcome"));
  EXPECT_EQ(ab->user_data(), 7U);
  EXPECT_EQ(ab->addr(), address());
  if (is_simulated()) {
    EXPECT_EQ(ba->addr().address(), address_of(*a->device, port).address()) << "by IPv4, as b was reached";
  }
  b->submit(&Rdma::receive, nullptr);
  a->submit(&Rdma::send, *ab, nullptr);
  ASSERT_TRUE(run(1, 1));
  EXPECT_EQ(b->completions[0].connection, ba.get());
  ab->disconnect();
  ASSERT_TRUE(run([&] { return a->downs.size() == 1 && b->downs.size() == 1; }));
}

TEST_F(RdmaByAddress, APeerMaySendAndLeaveBeforeThisEndHearsThatItIsEstablished) {
  if (!is_simulated()) {
    GTEST_SKIP() << "a queue pair that disconnects flushes requests that the network has not taken";
  }
  listen();
  b->on_request = [](RdmaConnection& connection) { connection.accept(); };
  b->submit(&Rdma::receive, nullptr);
  ab = a->rdma->connect_to_addr(address());
  ASSERT_TRUE(run([&] { return b->requests.size() == 1; }));
  // b's acceptance takes some calls. None follows once a is connected.
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (a->ups.empty() && std::chrono::steady_clock::now() < end) {
    b->pe->progress();
    a->pe->progress();
  }
  ASSERT_THAT(a->ups, SizeIs(1));
  a->submit(&Rdma::send, *ab, nullptr);
  ASSERT_TRUE(run_until({a.get()}, [&] { return a->completions.size() == 1; }));
  ab->disconnect();
  ASSERT_TRUE(run_until({a.get()}, [&] { return a->downs.size() == 1; }));
  ASSERT_TRUE(run_until({b.get()}, [&] { return b->downs.size() == 1; }));
  ASSERT_THAT(b->completions, SizeIs(1));
  EXPECT_EQ(b->completions[0].status, Status::success);
  EXPECT_EQ(b->completions[0].connection, b->requests[0].get());
  EXPECT_THAT(b->ups, SizeIs(1));
  EXPECT_THAT(b->failures, SizeIs(0));
}

TEST_F(RdmaByAddress, EveryAddressOfTheDeviceIsOne) {
  if (!is_simulated()) {
    GTEST_SKIP() << "librdmacm listens to the address of one GID, the one that set_gid_index() chose";
  }
  listen();
  b->on_request = [](RdmaConnection& connection) { connection.accept(); };
  const RdmaAddress local(RdmaAddressType::gid, Rdma::gids(b->device->info(), 0, 1)[0], port);
  ab = a->rdma->connect_to_addr(RdmaAddress::create(RdmaAddressType::ipv6, local.address(), port));
  ASSERT_TRUE(run([&] { return a->ups.size() == 1; }));
  EXPECT_EQ(b->requests[0]->addr().type(), RdmaAddressType::ipv6) << "the first GID of pf0";
}

TEST_F(RdmaByAddress, ARequestMayBeAnsweredLaterAndRejected) {
  listen();
  ab = a->rdma->connect_to_addr(address());
  ASSERT_TRUE(run([&] { return b->requests.size() == 1; }));
  EXPECT_EQ(b->requests[0]->state(), State::requested);
  b->requests[0]->reject();
  ASSERT_TRUE(run([&] { return a->failures.size() == 1; }));
  EXPECT_EQ(ab->failure(), Status::connection_aborted);
  EXPECT_EQ(ab->state(), State::closed);
  ASSERT_TRUE(run([&] { return b->rdma->connections().empty(); }));
  EXPECT_THAT(b->failures, IsEmpty()) << "the side that rejects gets no failure";
  EXPECT_EQ(thrown_by([&] { b->requests[0]->accept(); }), Status::bad_state);
}

TEST_F(RdmaByAddress, FailsWhereNoContextListens) {
  start();
  ab = a->rdma->connect_to_addr(address());
  ASSERT_TRUE(run([&] { return a->failures.size() == 1; }));
  EXPECT_EQ(ab->failure(), Status::not_found);
  EXPECT_EQ(a->rdma->state(), ContextState::running);
}

TEST_F(RdmaByAddress, ARequestWithoutAnAnswerTimesOut) {
  a->rdma->set_connection_request_timeout(is_simulated() ? 30 : 500);
  listen();
  ab = a->rdma->connect_to_addr(address());
  ASSERT_TRUE(run([&] { return b->requests.size() == 1; }));
  ASSERT_TRUE(run([&] { return a->failures.size() == 1; }));
  EXPECT_EQ(ab->failure(), Status::time_out);
  EXPECT_EQ(a->rdma->state(), ContextState::running);
  if (!is_simulated()) {  // the kernel reports it only when the request is answered
    EXPECT_EQ(thrown_by([&] { b->requests[0]->accept(); }), Status::connection_aborted);
  }
  ASSERT_TRUE(run([&] { return b->rdma->connections().empty(); }))
      << "the request is gone with the client that made it";
  EXPECT_EQ(thrown_by([&] { b->requests[0]->accept(); }), Status::connection_aborted);
}

TEST_F(RdmaByAddress, ARequestThatWasGivenUpLeavesRoomForAnother) {
  listen();
  ab = a->rdma->connect_to_addr(address());
  ASSERT_TRUE(run([&] { return b->requests.size() == 1; }));
  ab->disconnect();
  ASSERT_TRUE(run([&] { return ab->state() == State::closed; }));
  EXPECT_THAT(a->failures, SizeIs(1));
  if (!is_simulated()) {
    EXPECT_EQ(thrown_by([&] { b->requests[0]->accept(); }), Status::connection_aborted);
  }
  ASSERT_TRUE(run([&] { return b->rdma->connections().empty(); }));
  b->on_request = [](RdmaConnection& connection) { connection.accept(); };
  ab = a->rdma->connect_to_addr(address());
  ASSERT_TRUE(run([&] { return a->ups.size() == 1 && b->ups.size() == 1; }));
}

TEST_F(RdmaByAddress, WithoutRoomARequestIsRejected) {
  listen();
  b->on_request = [](RdmaConnection& connection) { connection.accept(); };
  ab = a->rdma->connect_to_addr(address());
  ASSERT_TRUE(run([&] { return a->ups.size() == 1; }));
  RdmaRig c("p0");
  EXPECT_EQ(c.rdma->start(), Status::success);
  const auto late = c.rdma->connect_to_addr(address());
  ASSERT_TRUE(run_until({b.get(), &c}, [&] { return c.failures.size() == 1; }));
  EXPECT_EQ(late->failure(), Status::connection_aborted);
  EXPECT_TRUE(ab->is_connected());
}

TEST_F(RdmaByAddress, PortsAreTakenOnceAndGivenBack) {
  listen();
  RdmaRig c("p1");
  EXPECT_EQ(c.rdma->start(), Status::success);
  EXPECT_EQ(thrown_by([&] { b->rdma->start_listen_to_port(port); }), Status::bad_state);
  EXPECT_EQ(thrown_by([&] { c.rdma->start_listen_to_port(port); }), Status::connection_aborted);
  EXPECT_EQ(thrown_by([&] { c.rdma->stop_listen_to_port(port); }), Status::invalid_value);
  EXPECT_EQ(thrown_by([&] { c.rdma->start_listen_to_port(0); }), Status::invalid_value);
  b->rdma->stop_listen_to_port(port);
  c.rdma->start_listen_to_port(port);
}

TEST_F(RdmaByAddress, PrivateDataIsLimited) {
  start();
  EXPECT_EQ(thrown_by([&] { a->rdma->connect_to_addr(address(), 0, std::vector<std::byte>(57)); }),
            Status::invalid_value);
  EXPECT_THAT(a->rdma->connections(), IsEmpty());
}

TEST_F(RdmaByAddress, ListeningNeedsACallback) {
  b->rdma->set_connection_state_callbacks(nullptr, nullptr, nullptr, nullptr);
  start();
  EXPECT_EQ(thrown_by([&] { b->rdma->start_listen_to_port(port); }), Status::invalid_value);
}

TEST(RdmaAddress, IsWrittenAsItIsRead) {
  EXPECT_EQ(RdmaAddress::create(RdmaAddressType::ipv4, "10.0.0.1", 1).address(), "10.0.0.1");
  EXPECT_EQ(RdmaAddress::create(RdmaAddressType::gid, "fe80::1", 1).address(), "fe80::1");
  for (const char* const text : {"", "10.0.0", "10.0.0.256", "fe80::1", "localhost", "10.0.0.1 "}) {
    EXPECT_EQ(thrown_by([&] { RdmaAddress::create(RdmaAddressType::ipv4, text, 1); }), Status::invalid_value) << text;
  }
  EXPECT_EQ(thrown_by([] { RdmaAddress::create(RdmaAddressType::ipv6, "fe80::g", 1); }), Status::invalid_value);
  EXPECT_EQ(thrown_by([] { RdmaAddress::create(RdmaAddressType::ipv4, "10.0.0.1", 0); }), Status::invalid_value);
}

class RdmaSettings : public RdmaTest {};

TEST_F(RdmaSettings, AreCheckedWhenTheyAreGiven) {
  Rdma& rdma = *a->rdma;
  const auto refused = [&](auto action) { return thrown_by([&] { action(rdma); }); };
  EXPECT_EQ(refused([](Rdma& r) { r.set_permissions(Access::pci_read_only); }), Status::invalid_value);
  EXPECT_EQ(refused([](Rdma& r) { r.set_permissions(Access::local_read_write | any_rdma); }), Status::success);
  EXPECT_EQ(refused([](Rdma& r) { r.set_recv_queue_size(8); }), Status::not_supported);
  EXPECT_EQ(refused([](Rdma& r) { r.set_send_queue_size(0); }), Status::invalid_value);
  EXPECT_EQ(refused([](Rdma& r) { r.set_send_queue_size(1U << 20); }), Status::not_supported);
  EXPECT_EQ(refused([](Rdma& r) { r.set_max_num_connections(0); }), Status::not_supported);
  EXPECT_EQ(refused([](Rdma& r) { r.set_transport_type(RdmaTransport::dc); }), Status::not_supported);
  EXPECT_EQ(refused([](Rdma& r) { r.set_mtu(MtuSize::raw_ethernet); }), Status::invalid_value);
  EXPECT_EQ(refused([](Rdma& r) { r.set_grh_enabled(false); }), Status::not_supported);
  EXPECT_EQ(refused([](Rdma& r) { r.set_gid_index(Rdma::gid_table_size(r.device()->info())); }), Status::invalid_value);
  EXPECT_EQ(refused([](Rdma& r) { r.set_sl(16); }), Status::invalid_value);
  EXPECT_EQ(refused([](Rdma& r) { r.set_rnr_retry_count(8); }), Status::invalid_value);
  EXPECT_EQ(refused([](Rdma& r) { r.set_connection_request_timeout(0); }), Status::invalid_value);
  EXPECT_EQ(refused([](Rdma& r) { r.set_conf(RdmaTaskKind::send, nullptr, nullptr, 1); }), Status::invalid_value);
  rdma.set_send_queue_size(100);
  EXPECT_EQ(rdma.send_queue_size(), 128U);
}

TEST_F(RdmaSettings, AreForAnIdleContext) {
  start();
  Rdma& rdma = *a->rdma;
  const auto ignore = [](Task&, std::uint64_t, std::uint64_t) noexcept {};
  EXPECT_EQ(thrown_by([&] { rdma.set_permissions(any_rdma); }), Status::bad_state);
  EXPECT_EQ(thrown_by([&] { rdma.set_max_num_connections(2); }), Status::bad_state);
  EXPECT_EQ(thrown_by([&] { rdma.set_conf(RdmaTaskKind::send, ignore, ignore, 1); }), Status::bad_state);
  EXPECT_EQ(thrown_by([&] { rdma.close(); }), Status::bad_state);
}

TEST_F(RdmaSettings, ChangeBetweenRuns) {
  connect();
  a->stop();
  const auto ignore = [](Task&, std::uint64_t, std::uint64_t) noexcept {};
  a->rdma->set_max_num_connections(2);
  a->rdma->set_conf(RdmaTaskKind::send, ignore, ignore, 1);
  ASSERT_EQ(a->rdma->start(), Status::success);
  EXPECT_EQ(a->rdma->num_tasks(RdmaTaskKind::send), 1U);
  a->rdma->export_connection();
  const auto second = a->rdma->export_connection();
  EXPECT_EQ(thrown_by([&] { a->rdma->export_connection(); }), Status::full);
  second->disconnect();
}

TEST_F(RdmaSettings, CapabilitiesAreAskedOfADevice) {
  const DeviceInfo& info = a->device->info();
  EXPECT_TRUE(Rdma::is_supported(info));
  EXPECT_TRUE(Rdma::is_transport_type_supported(info, RdmaTransport::rc));
  EXPECT_FALSE(Rdma::is_transport_type_supported(info, RdmaTransport::dc));
  EXPECT_TRUE(Rdma::is_connection_manager_supported(info));
  EXPECT_GE(Rdma::max_message_size(info), is_simulated() ? 1U << 30 : 1U << 20);
  const std::uint32_t size = Rdma::gid_table_size(info);
  EXPECT_THAT(Rdma::gids(info, 0, size), SizeIs(size));
  EXPECT_TRUE(!is_simulated() || size == 255) << size;
  EXPECT_EQ(thrown_by([&] { Rdma::gids(info, 1, size); }), Status::invalid_value);
  for (std::size_t kind = 0; kind < num_rdma_task_kinds; ++kind) {
    EXPECT_TRUE(Rdma::is_task_supported(info, static_cast<RdmaTaskKind>(kind)));
  }
}

TEST_F(RdmaSettings, AContextStartsWithoutTasks) {
  const auto bare = Rdma::create(a->device);
  a->pe->connect(bare);
  EXPECT_EQ(bare->start(), Status::success);
  RdmaTask* task = nullptr;
  EXPECT_EQ(bare->receive(nullptr, 0, task), Status::no_memory);
  EXPECT_EQ(bare->stop(), Status::success);
  bare->close();
}

}  // namespace
}  // namespace pydoca
