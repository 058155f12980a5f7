#include "pydoca/backend/device.hpp"
#include "pydoca/device_properties.hpp"

#include "backend/verbs/device.hpp"
#include "backend/verbs/memory/blob.hpp"
#include "backend/verbs/rdma/rdma_queue.hpp"
#include "backend/verbs/rdma_fixture.hpp"
#include "detail/ready_node.hpp"
#include "rig/expect_error.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <thread>

namespace pydoca::verbs {
namespace {

// ---- Events of drivers

/// Delivers an event as the driver of the device under test would, from another thread.
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
    ba->disconnect();  // when both ends are on one device, both lose the connection
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

/// The notifier of a queue without an engine.
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
  EXPECT_EQ(receives[0].outcome, Status::driver);
  ASSERT_EQ(queue.post_receive(receives[1], true), Status::success);
  EXPECT_EQ(queue.poll(more), &receives[1]);
  EXPECT_EQ(receives[1].outcome, Status::driver);
  EXPECT_EQ(thrown_by([&] { queue.create_queue_pair(); }), Status::driver);
}

// ---- Removal

/// Only the lab allows it, where no other program uses the device.
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
