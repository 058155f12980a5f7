#include "pydoca/backend/device.hpp"

#include "backend/verbs/blob.hpp"
#include "backend/verbs/device.hpp"
#include "backend/verbs/rdma_queue.hpp"
#include "backend/verbs/verbs_subject.hpp"
#include "detail/ready_node.hpp"
#include "rig/bytes.hpp"
#include "rig/expect_error.hpp"
#include "rig/rdma_rig.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <sys/socket.h>
#include <thread>

namespace pydoca::verbs {
namespace {

using ::testing::Each;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using State = RdmaConnection::State;

constexpr std::uint16_t port = 18515;

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

/// Two contexts in one process: on the device under test and on its peer, which may be the same one.
class VerbsRdma : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string reason = why_absent(); !reason.empty()) {
      GTEST_SKIP() << reason;
    }
    ::setenv("PYDOCA_BACKEND", "verbs", 1);
    const char* const peer = std::getenv("PYDOCA_TEST_PEER");
    a = std::make_unique<RdmaRig>(pydoca::Device::open(find_subject()), ProgressEngine::create());
    const DeviceInfo other = peer != nullptr && *peer != '\0' ? find_device(peer) : find_subject();
    b = std::make_unique<RdmaRig>(pydoca::Device::open(other), ProgressEngine::create());
  }

  bool run(const std::function<bool()>& done) { return run_until({a.get(), b.get()}, done, std::chrono::seconds(50)); }
  bool run(std::size_t of_a, std::size_t of_b) {
    return run([&] { return a->completions.size() >= of_a && b->completions.size() >= of_b; });
  }
  void start() const {
    ASSERT_EQ(a->rdma->start(), Status::success);
    ASSERT_EQ(b->rdma->start(), Status::success);
  }
  void connect_by_details() {
    ab = a->rdma->export_connection();
    ba = b->rdma->export_connection();
    a->rdma->connect(ba->details(), *ab);
    b->rdma->connect(ab->details(), *ba);
  }
  RdmaAddress address(std::uint16_t to = port) const {
    const std::array<std::uint8_t, 4> ip = b->device->info().ipv4_addr();
    std::string text;
    for (const std::uint8_t byte : ip) {
      text += (text.empty() ? "" : ".") + std::to_string(byte);
    }
    return RdmaAddress::create(RdmaAddressType::ipv4, text, to);
  }
  void connect_by_address() {
    start();
    b->rdma->start_listen_to_port(port);
    b->on_request = [](RdmaConnection& connection) { connection.accept(bytes_of("welcome")); };
    ab = a->rdma->connect_to_addr(address(), 7, bytes_of("hello"));
    if (!run([&] { return a->ups.size() == 1 && b->ups.size() == 1; })) {
      throw std::runtime_error("the connection did not come about");  // an assertion would end this function only
    }
    ba = b->requests.at(0);
  }
  std::shared_ptr<Mmap> imported(const NetMemory& memory) const {
    return Mmap::create_from_export(a->device, memory.blob);
  }

  std::unique_ptr<RdmaRig> a;
  std::unique_ptr<RdmaRig> b;
  std::shared_ptr<RdmaConnection> ab;
  std::shared_ptr<RdmaConnection> ba;
};

// ---- By address

TEST_F(VerbsRdma, ARequestIsAcceptedAndCarriesDataBothWays) {
  connect_by_address();
  EXPECT_EQ(ba->private_data(), bytes_of("hello"));
  EXPECT_EQ(ab->private_data(), bytes_of("welcome"));
  EXPECT_EQ(ab->user_data(), 7U);
  b->submit(&Rdma::receive, nullptr);
  a->submit(&Rdma::send_imm, *ab, nullptr, 5U);
  a->submit(&Rdma::receive, nullptr);
  b->submit(&Rdma::send, *ba, nullptr);
  ASSERT_TRUE(run(2, 2));
  EXPECT_THAT(a->completions, Each(Field(&RdmaRig::Completion::status, Status::success)));
  EXPECT_THAT(b->completions, Each(Field(&RdmaRig::Completion::status, Status::success)));
}

TEST_F(VerbsRdma, EverythingGoesOverAConnectionByAddress) {
  connect_by_address();
  NetMemory here(a->device, 8192);
  NetMemory there(b->device, 8192);
  here.fill(1);
  there.word(4096) = 40;
  const auto far = imported(there);
  a->submit(&Rdma::write, *ab, a->data(here, 0, 3000), a->room(far, there.addr(), 3000));
  a->submit(&Rdma::atomic_fetch_add, *ab, a->data(far, there.addr(4096), 8), a->room(here, 4096, 8), 2U);
  a->submit(&Rdma::read, *ab, a->data(far, there.addr(4096), 8), a->room(here, 4104, 8));
  ASSERT_TRUE(run(3, 0));
  EXPECT_THAT(a->completions, Each(Field(&RdmaRig::Completion::status, Status::success)));
  EXPECT_TRUE(same(here.bytes.first(3000), there.bytes.first(3000)));
  EXPECT_EQ(here.word(4096), 40U);
  EXPECT_EQ(here.word(4104), 42U);
}

TEST_F(VerbsRdma, DisconnectingIsHeardAtBothEndsAndFlushes) {
  connect_by_address();
  b->submit(&Rdma::send, *ba, nullptr);  // for which there is no receive
  a->submit(&Rdma::send, *ab, nullptr);
  ab->disconnect();
  ASSERT_TRUE(run([&] { return a->downs.size() == 1 && b->downs.size() == 1; }));
  EXPECT_EQ(a->completions.at(0).status, Status::shutdown);
  EXPECT_EQ(b->completions.at(0).status, Status::connection_reset);
  EXPECT_EQ(a->rdma->state(), ContextState::running);
  EXPECT_EQ(b->rdma->state(), ContextState::running);
  EXPECT_THAT(a->rdma->connections(), IsEmpty());
}

TEST_F(VerbsRdma, ARequestMayBeAnsweredLaterAndRejected) {
  start();
  b->rdma->start_listen_to_port(port);
  ab = a->rdma->connect_to_addr(address());
  ASSERT_TRUE(run([&] { return b->requests.size() == 1; }));
  b->requests[0]->reject();
  ASSERT_TRUE(run([&] { return a->failures.size() == 1 && b->rdma->connections().empty(); }));
  EXPECT_EQ(ab->failure(), Status::connection_aborted);
  EXPECT_EQ(a->rdma->state(), ContextState::running);
}

TEST_F(VerbsRdma, NobodyListensThere) {
  start();
  ab = a->rdma->connect_to_addr(address());
  ASSERT_TRUE(run([&] { return a->failures.size() == 1; }));
  EXPECT_EQ(ab->failure(), Status::not_found);
}

TEST_F(VerbsRdma, PortsAreTakenOnceAndGivenBack) {
  start();
  b->rdma->start_listen_to_port(port);
  RdmaRig c(b->device, ProgressEngine::create());
  c.rdma->start();
  EXPECT_EQ(thrown_by([&] { c.rdma->start_listen_to_port(port); }), Status::already_exist);
  b->rdma->stop_listen_to_port(port);
  c.rdma->start_listen_to_port(port);
  EXPECT_EQ(thrown_by([&] { a->rdma->connect_to_addr(address(), 0, std::vector<std::byte>(57)); }),
            Status::invalid_value);
}

TEST_F(VerbsRdma, StoppingEndsEveryConnectionAndRunsAgain) {
  connect_by_address();
  b->submit(&Rdma::receive, nullptr);
  b->rdma->stop();
  ASSERT_TRUE(run([&] { return b->rdma->state() == ContextState::idle && a->downs.size() == 1; }));
  EXPECT_EQ(b->completions.at(0).status, Status::shutdown);
  ASSERT_EQ(b->rdma->start(), Status::success);
  b->rdma->start_listen_to_port(port);
  ab = a->rdma->connect_to_addr(address());
  ASSERT_TRUE(run([&] { return a->ups.size() == 2; }));
}

// ---- Failures

TEST_F(VerbsRdma, MemoryThatWasWithdrawnFailsTheTaskAndTheContext) {
  start();
  connect_by_details();
  NetMemory here(a->device, 64);
  const auto there = std::make_unique<NetMemory>(b->device, 64);
  const auto far = imported(*there);
  there->mmap->stop();
  a->submit(&Rdma::write, *ab, a->data(here, 0, 64), a->room(far, far->addr(), 64));
  a->submit(&Rdma::write, *ab, a->data(here, 0, 64), a->room(far, far->addr(), 64));
  ASSERT_TRUE(run([&] { return a->rdma->state() == ContextState::idle; }));
  EXPECT_EQ(a->completions.at(0).status, Status::io_failed);
  EXPECT_EQ(a->completions.at(1).status, Status::shutdown);
  EXPECT_THAT(a->downs, SizeIs(1));
  ASSERT_EQ(a->rdma->start(), Status::success);
  b->rdma->stop();
  ASSERT_TRUE(run([&] { return b->rdma->state() == ContextState::idle; }));
  ASSERT_EQ(b->rdma->start(), Status::success);
  connect_by_details();
  b->submit(&Rdma::receive, nullptr);
  a->submit(&Rdma::send, *ab, nullptr);
  ASSERT_TRUE(run(3, 1));
  EXPECT_EQ(a->completions.at(2).status, Status::success) << "the process can use the device again";
}

TEST_F(VerbsRdma, APermissionIsNeededOfMapAndContext) {
  b->rdma->set_permissions(Access::rdma_read);
  start();
  connect_by_details();
  NetMemory here(a->device, 64);
  const NetMemory there(b->device, 64);
  const auto far = imported(there);
  a->submit(&Rdma::read, *ab, a->data(far, far->addr(), 64), a->room(here, 0, 64));
  ASSERT_TRUE(run(1, 0));
  EXPECT_EQ(a->completions.at(0).status, Status::success);
  a->submit(&Rdma::write, *ab, a->data(here, 0, 64), a->room(far, far->addr(), 64));
  ASSERT_TRUE(run(2, 0));
  EXPECT_EQ(a->completions.at(1).status, Status::io_failed);
}

TEST_F(VerbsRdma, APeerThatNeverReceives) {
  a->rdma->set_rnr_retry_count(1);
  start();
  connect_by_details();
  a->submit(&Rdma::send, *ab, nullptr);
  ASSERT_TRUE(run(1, 0));
  EXPECT_EQ(a->completions.at(0).status, Status::time_out);
}

TEST_F(VerbsRdma, AReceiveTooSmallFailsAtBothEnds) {
  start();
  connect_by_details();
  NetMemory here(a->device, 64);
  NetMemory there(b->device, 64);
  b->submit(&Rdma::receive, b->room(there, 0, 63));
  a->submit(&Rdma::send, *ab, a->data(here, 0, 64));
  ASSERT_TRUE(run(1, 1));
  EXPECT_EQ(a->completions.at(0).status, Status::io_failed);
  EXPECT_EQ(b->completions.at(0).status, Status::io_failed);
  ASSERT_TRUE(run([&] { return b->downs.size() == 1; }));
}

TEST_F(VerbsRdma, ALostPeersTasksFailWithConnectionReset) {
  start();
  connect_by_details();
  b->submit(&Rdma::receive, nullptr);
  a->submit(&Rdma::send, *ab, nullptr);
  ASSERT_TRUE(run(1, 1));
  ba->disconnect();  // of which only its next task tells the other end
  a->submit(&Rdma::send, *ab, nullptr);
  a->submit(&Rdma::send, *ab, nullptr);
  ASSERT_TRUE(run(3, 1));
  EXPECT_EQ(a->completions.at(1).status, Status::connection_reset);
  EXPECT_EQ(a->completions.at(2).status, Status::connection_reset);
  ASSERT_TRUE(run([&] { return a->downs.size() == 1; }));
  EXPECT_EQ(a->rdma->state(), ContextState::running);
}

// ---- What drivers tell

/// Of the device under test: as if its driver had said so, from another thread.
void tell(const RdmaRig& rig, const ibv_async_event& event) {
  auto& device = static_cast<Device&>(rig.device->backend());
  std::thread([&] { device.place().async_events().deliver(event); }).join();
}

ibv_qp pair_of(const RdmaConnection& connection) {
  PairBlob blob;
  EXPECT_EQ(parse(connection.details(), blob), Status::success);
  ibv_qp pair{};
  pair.qp_num = blob.number;
  return pair;
}

struct Told {
  const char* name;
  ibv_event_type event;
  Status failure;
  Status tasks;
};

class VerbsRdmaTold : public VerbsRdma, public testing::WithParamInterface<Told> {};

TEST_P(VerbsRdmaTold, EndsTheConnectionThatItConcerns) {
  a->rdma->set_max_num_connections(2);
  b->rdma->set_max_num_connections(2);
  start();
  connect_by_details();
  const auto other = ab;
  const auto other_back = ba;
  connect_by_details();
  ASSERT_TRUE(run([&] { return a->ups.size() == 2 && b->ups.size() == 2; }));
  a->submit(&Rdma::send, *ab, nullptr);  // waits for a receive
  ibv_qp pair = pair_of(*ab);
  ibv_async_event event{};
  event.event_type = GetParam().event;
  event.element.qp = &pair;
  std::thread teller([&] { tell(*a, event); });
  EXPECT_TRUE(run([&] { return a->downs.size() == 1 && a->completions.size() == 1; })) << "asleep";
  teller.join();
  EXPECT_EQ(a->downs.at(0), ab);
  EXPECT_EQ(ab->failure(), GetParam().failure);
  EXPECT_EQ(a->completions.at(0).status, GetParam().tasks);
  EXPECT_EQ(a->rdma->state(), ContextState::running);
  b->submit(&Rdma::receive, nullptr);
  a->submit(&Rdma::send, *other, nullptr);
  ASSERT_TRUE(run(2, 1));
  EXPECT_EQ(a->completions.at(1).status, Status::success) << "the other connection";
}

INSTANTIATE_TEST_SUITE_P(
    All, VerbsRdmaTold,
    testing::Values(Told{"Fatal", IBV_EVENT_QP_FATAL, Status::io_failed, Status::shutdown},
                    Told{"Access", IBV_EVENT_QP_ACCESS_ERR, Status::connection_reset, Status::connection_reset},
                    Told{"Request", IBV_EVENT_QP_REQ_ERR, Status::connection_reset, Status::connection_reset}),
    [](const auto& told) { return std::string(told.param.name); });

TEST_F(VerbsRdma, APortThatIsToldToBeDownLeavesAloneWhatIsNotConnected) {
  a->rdma->set_max_num_connections(2);
  start();
  connect_by_details();
  ASSERT_TRUE(run([&] { return a->ups.size() == 1; }));
  const auto waiting = a->rdma->export_connection();
  ibv_async_event event{};
  event.event_type = IBV_EVENT_PORT_ERR;
  event.element.port_num = 2;
  tell(*a, event);
  for (int i = 0; i < 100; ++i) {
    a->pe->progress();
  }
  EXPECT_TRUE(ab->is_connected()) << "another port's";
  event.element.port_num = 1;
  tell(*a, event);
  ASSERT_TRUE(run([&] { return a->downs.size() == 1; }));
  EXPECT_EQ(a->downs[0], ab);
  if (ba->is_connected()) {
    ba->disconnect();  // of one device both ends hear of it
  }
  ASSERT_TRUE(run([&] { return b->rdma->connections().empty(); }));
  ba = b->rdma->export_connection();
  a->rdma->connect(ba->details(), *waiting);
  b->rdma->connect(waiting->details(), *ba);
  b->submit(&Rdma::receive, nullptr);
  a->submit(&Rdma::send, *waiting, nullptr);
  ASSERT_TRUE(run(1, 1));
  EXPECT_EQ(a->completions[0].status, Status::success);
}

TEST_F(VerbsRdma, WhatIsToldOfPairsThatAreGoneConcernsNobody) {
  start();
  connect_by_details();
  ASSERT_TRUE(run([&] { return a->ups.size() == 1; }));
  ibv_qp pair = pair_of(*ab);
  ibv_async_event event{};
  event.event_type = IBV_EVENT_QP_FATAL;
  event.element.qp = &pair;
  ab->disconnect();
  ba->disconnect();
  ASSERT_TRUE(run([&] { return a->downs.size() == 1 && b->downs.size() == 1; }));
  tell(*a, event);
  event.event_type = IBV_EVENT_SQ_DRAINED;
  tell(*a, event);
  connect_by_details();
  b->submit(&Rdma::receive, nullptr);
  a->submit(&Rdma::send, *ab, nullptr);
  ASSERT_TRUE(run(1, 1));
  EXPECT_EQ(a->completions.at(0).status, Status::success);
}

/// Of a queue without an engine.
class Silent final : public detail::ReadyNode {
  bool progress_one(bool& more) noexcept override { return more = false; }
};

TEST_F(VerbsRdma, AQueueThatTheDeviceHasGivenUpFailsWhatItHolds) {
  Silent notifier;
  backend::RdmaOptions options{.send_queue_size = 4, .recv_queue_size = 4};
  options.gid_index = a->device->info().capabilities().rdma->default_gid_index;
  const auto made = a->device->backend().create_rdma_queue(options, notifier);
  auto& queue = static_cast<RdmaQueue&>(*made);
  std::array<backend::RdmaOperation, 2> receives;
  ASSERT_EQ(queue.post_receive(receives[0], true), Status::success);
  ibv_async_event event{};
  event.event_type = IBV_EVENT_CQ_ERR;
  event.element.cq = queue.completions();
  tell(*a, event);
  backend::RdmaEvent nothing;
  EXPECT_TRUE(queue.look());
  EXPECT_FALSE(queue.next_event(nothing));
  bool more = false;
  EXPECT_EQ(queue.poll(more), &receives[0]);
  EXPECT_EQ(receives[0].status, Status::driver);
  ASSERT_EQ(queue.post_receive(receives[1], true), Status::success);
  EXPECT_EQ(queue.poll(more), &receives[1]);
  EXPECT_EQ(receives[1].status, Status::driver);
  EXPECT_EQ(thrown_by([&] { queue.create_queue_pair(); }), Status::driver);
}

// ---- Removal

/// Only in the lab, where nobody else uses the device.
bool may_remove(const std::string& device) {
  return std::getenv("PYDOCA_RDMA_LAB") != nullptr && device.starts_with("rxe");
}

// NOLINTNEXTLINE(bugprone-command-processor,concurrency-mt-unsafe)
int run_command(const std::string& command) { return std::system(command.c_str()); }

TEST_F(VerbsRdma, APortThatGoesDownEndsItsConnections) {
  const std::string iface = a->device->info().properties().iface_name;
  if (!may_remove(a->device->info().name())) {
    GTEST_SKIP() << iface << " is not the lab's to take down";
  }
  start();
  connect_by_details();
  b->submit(&Rdma::receive, nullptr);
  a->submit(&Rdma::send, *ab, nullptr);
  ASSERT_TRUE(run(1, 1));
  b->submit(&Rdma::receive, nullptr);
  std::thread cut([&] { EXPECT_EQ(run_command("ip link set " + iface + " down"), 0); });
  EXPECT_TRUE(run([&] { return a->downs.size() == 1 && b->downs.size() == 1; })) << "idle, by details";
  cut.join();
  ASSERT_EQ(run_command("ip link set " + iface + " up"), 0);
  EXPECT_EQ(ab->failure(), Status::connection_reset);
  EXPECT_EQ(ba->failure(), Status::connection_reset);
  EXPECT_EQ(a->rdma->state(), ContextState::running);
  connect_by_details();
  a->submit(&Rdma::send, *ab, nullptr);
  ASSERT_TRUE(run(2, 2));
  EXPECT_EQ(a->completions.at(1).status, Status::success);
  EXPECT_EQ(b->completions.at(1).status, Status::success) << "the receive of before";
}

TEST_F(VerbsRdma, ARemovedDeviceFailsWhatIsThereAndComesBack) {
  const std::string name = a->device->info().name();
  const std::string iface = a->device->info().properties().iface_name;
  if (!may_remove(name)) {
    GTEST_SKIP() << name << " is not the lab's to remove";
  }
  b = std::make_unique<RdmaRig>(a->device, ProgressEngine::create());
  start();
  connect_by_details();
  b->submit(&Rdma::receive, nullptr);
  a->submit(&Rdma::send, *ab, nullptr);
  ASSERT_TRUE(run(1, 1));
  b->submit(&Rdma::receive, nullptr);
  // The command ends when the last process has closed the device.
  std::thread removal([&] { EXPECT_EQ(run_command("rdma link delete " + name), 0); });
  const auto removed = [&] { return b->completions.size() == 2 && a->downs.size() == 1 && b->downs.size() == 1; };
  EXPECT_TRUE(run(removed)) << "asleep, so that the removal itself must wake the engines";
  EXPECT_EQ(b->completions.back().status, Status::driver);
  EXPECT_TRUE(a->device->removed());
  EXPECT_EQ(thrown_by([&] { NetMemory(a->device, 64); }), Status::driver);
  ab.reset();
  ba.reset();
  a.reset();
  b.reset();
  removal.join();
  ASSERT_EQ(run_command("rdma link add " + name + " type rxe netdev " + iface), 0);
  RdmaRig again(pydoca::Device::open(find_device(name)), ProgressEngine::create());
  EXPECT_EQ(again.rdma->start(), Status::success);
}

}  // namespace
}  // namespace pydoca::verbs
