/// Failures, and their effect on tasks, connections and contexts.

#include "rig/expect_error.hpp"
#include "rig/library/rdma_rig.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>

namespace pydoca {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class RdmaFailure : public RdmaTest {
 protected:
  void SetUp() override { local = std::make_unique<NetMemory>(a->device, 8192); }

  /// One task fails with status, its connection ends at both sides, and a becomes idle without a stop().
  void expect_fatal(Status status) {
    ASSERT_TRUE(run([&] { return a->rdma->state() == ContextState::idle; }));
    leave_unless_told(*ba);
    ASSERT_TRUE(run([&] { return b->downs.size() == 1; }));
    ASSERT_THAT(a->completions, testing::Not(IsEmpty()));
    EXPECT_EQ(a->completions[0].status, status);
    EXPECT_EQ(a->rdma->failure(), status);
    EXPECT_EQ(ab->failure(), status);
    EXPECT_THAT(a->downs, SizeIs(1));
    EXPECT_EQ(b->rdma->state(), ContextState::running) << "the fault is the peer's";
  }
  void expect_runs_again() {
    ASSERT_EQ(a->rdma->start(), Status::success);
    connect_again();
    b->submit(&Rdma::receive, nullptr);
    a->submit(&Rdma::send, *ab, nullptr);
    const std::size_t before = a->completions.size();
    ASSERT_TRUE(run([&] { return a->completions.size() > before; }));
    EXPECT_EQ(a->completions.back().status, Status::success);
  }

  std::unique_ptr<NetMemory> local;
};

struct Violation {
  const char* name;
  Access map;
  Access context;
  RdmaTaskKind kind;

  friend std::ostream& operator<<(std::ostream& out, const Violation& violation) { return out << violation.name; }
};

class RdmaPermission : public RdmaFailure, public testing::WithParamInterface<Violation> {};

TEST_P(RdmaPermission, IsNeededOfMapAndContext) {
  const Violation& violation = GetParam();
  b->rdma->set_permissions(violation.context);
  connect();
  const NetMemory remote(b->device, 64, violation.map);
  const auto map = imported(remote);
  if (violation.kind == RdmaTaskKind::write) {
    a->submit(&Rdma::write, *ab, a->data(*local, 0, 64), a->room(map, remote.addr(), 64));
  } else if (violation.kind == RdmaTaskKind::read) {
    a->submit(&Rdma::read, *ab, a->data(map, remote.addr(), 64), a->room(*local, 0, 64));
  } else {
    a->submit(&Rdma::atomic_fetch_add, *ab, a->data(map, remote.addr(), 8), a->room(*local, 0, 8), std::uint64_t{1});
  }
  expect_fatal(Status::io_failed);
  expect_runs_again();
  a->free_bufs();
}

INSTANTIATE_TEST_SUITE_P(
    All, RdmaPermission,
    testing::Values(Violation{"WriteOfMap", Access::rdma_read | Access::rdma_atomic, any_rdma, RdmaTaskKind::write},
                    Violation{"WriteOfContext", any_rdma, Access::rdma_read | Access::rdma_atomic, RdmaTaskKind::write},
                    Violation{"ReadOfMap", Access::rdma_write, any_rdma, RdmaTaskKind::read},
                    Violation{"ReadOfContext", any_rdma, Access::rdma_write, RdmaTaskKind::read},
                    Violation{"AtomicOfMap", Access::rdma_read | Access::rdma_write, any_rdma,
                              RdmaTaskKind::atomic_fetch_add},
                    Violation{"AtomicOfContext", any_rdma, Access{}, RdmaTaskKind::atomic_fetch_add}),
    [](const auto& violation) { return std::string(violation.param.name); });

TEST_F(RdmaFailure, ExportNeedsAPermission) {
  const NetMemory memory(b->device, 64, Access{});
  EXPECT_EQ(thrown_by([&] { memory.mmap->export_rdma(*b->device); }), Status::not_permitted);
  EXPECT_EQ(thrown_by([&] { memory.mmap->export_rdma(*a->device); }), Status::not_permitted);
  const NetMemory shared(b->device, 64);
  if (!is_one_device()) {
    EXPECT_EQ(thrown_by([&] { shared.mmap->export_rdma(*a->device); }), Status::not_found);
  }
  const auto map = imported(shared);
  EXPECT_EQ(thrown_by([&] { map->export_rdma(*a->device); }), Status::not_permitted);
}

TEST_F(RdmaFailure, ADamagedMemoryBlobIsRefused) {
  const NetMemory memory(b->device, 64);
  const auto dpu = open_function("p0");
  for (std::size_t length = 0; length < memory.blob.size(); length += 5) {
    EXPECT_EQ(thrown_by([&] { Mmap::create_from_export(dpu, std::span(memory.blob).first(length)); }),
              Status::invalid_value);
  }
  for (std::size_t place = 0; place < memory.blob.size(); ++place) {
    std::vector<std::byte> forged = memory.blob;
    forged[place] ^= std::byte{0x40};
    const Status status = thrown_by([&] { Mmap::create_from_export(dpu, forged); });
    EXPECT_TRUE(status == Status::invalid_value || status == Status::unsupported_version) << place;
  }
}

TEST_F(RdmaFailure, MemoryThatWasWithdrawn) {
  connect();
  auto remote = std::make_unique<NetMemory>(b->device, 64);
  const auto map = imported(*remote);
  remote->mmap->stop();
  a->submit(&Rdma::write, *ab, a->data(*local, 0, 64), a->room(map, remote->addr(), 64));
  a->submit(&Rdma::write, *ab, a->data(*local, 0, 64), a->room(map, remote->addr(), 64));
  expect_fatal(Status::io_failed);
  EXPECT_EQ(a->completions[1].status, Status::shutdown) << "flushed";
  if (is_simulated()) {  // a peer that has the key does not ask the owner over verbs
    EXPECT_EQ(thrown_by([&] { Mmap::create_from_export(a->device, remote->blob); }), Status::not_connected);
  }
  expect_runs_again();
  a->free_bufs();
}

TEST_F(RdmaFailure, MemoryOfAnotherThanThePeer) {
  if (is_one_device()) {
    GTEST_SKIP() << "the only device is the peer's; give another one as PYDOCA_TEST_PEER";
  }
  connect();
  const auto other = is_simulated() ? open_function("p0") : a->device;
  const NetMemory remote(other, 64);
  const auto map = Mmap::create_from_export(a->device, remote.blob);
  a->submit(&Rdma::write, *ab, a->data(*local, 0, 64), a->room(map, remote.addr(), 64));
  expect_fatal(Status::io_failed);
  expect_runs_again();
  a->free_bufs();
}

TEST_F(RdmaFailure, ADestinationTooSmall) {
  connect();
  const NetMemory remote(b->device, 64);
  const auto map = imported(remote);
  a->submit(&Rdma::write, *ab, a->data(*local, 0, 64), a->room(map, remote.addr(), 63));
  expect_fatal(Status::io_failed);
  expect_runs_again();
  a->free_bufs();
}

TEST_F(RdmaFailure, MemoryThatIsDestroyed) {
  connect();
  auto remote = std::make_unique<NetMemory>(b->device, 64);
  const auto map = imported(*remote);
  const std::uint64_t addr = remote->addr();
  remote.reset();
  a->submit(&Rdma::read, *ab, a->data(map, addr, 64), a->room(*local, 0, 64));
  expect_fatal(Status::io_failed);
  expect_runs_again();
  a->free_bufs();
}

TEST_F(RdmaFailure, MemoryThatWasExportedAnew) {
  connect();
  const NetMemory remote(b->device, 64);
  const auto stale = imported(remote);
  remote.mmap->stop();
  remote.mmap->start();
  const std::vector<std::byte> blob = remote.mmap->export_rdma(*b->device);
  a->submit(&Rdma::write, *ab, a->data(*local, 0, 64), a->room(stale, remote.addr(), 64));
  expect_fatal(Status::io_failed);
  expect_runs_again();
  const auto fresh = Mmap::create_from_export(a->device, blob);
  a->submit(&Rdma::write, *ab, a->data(*local, 0, 64), a->room(fresh, remote.addr(), 64));
  const std::size_t before = a->completions.size();
  ASSERT_TRUE(run(before + 1, 0));
  EXPECT_EQ(a->completions.back().status, Status::success);
  a->free_bufs();
}

TEST_F(RdmaFailure, ARangeThatEndsBeyondTheMap) {
  connect();
  const NetMemory remote(b->device, 4096);
  const NetMemory larger(b->device, 8192);
  const auto map = imported(remote);
  Buf* buf = nullptr;
  EXPECT_EQ(a->inventory->get_by_addr(map, remote.addr(4000), 97, buf), Status::invalid_value);
  EXPECT_EQ(a->inventory->get_by_addr(map, remote.addr() - 1, 8, buf), Status::invalid_value);
  EXPECT_EQ(a->inventory->get_by_addr(map, larger.addr(), 8, buf), Status::invalid_value)
      << "an address of another map";
  EXPECT_EQ(a->inventory->get_by_addr(map, remote.addr(4096), ~std::uint64_t{0}, buf), Status::invalid_value);
  a->submit(&Rdma::write, *ab, a->data(*local, 0, 96), a->room(map, remote.addr(4000), 96));
  ASSERT_TRUE(run(1, 0));
  EXPECT_EQ(a->completions[0].status, Status::success) << "the last bytes";
  a->free_bufs();
}

TEST_F(RdmaFailure, LocalMemoryThatMayNotBeWritten) {
  connect();
  const NetMemory remote(b->device, 64);
  const auto map = imported(remote);
  // Memory that was imported from the network is not memory of this side.
  a->submit(&Rdma::read, *ab, a->data(map, remote.addr(), 8), a->room(map, remote.addr(8), 8));
  expect_fatal(Status::io_failed);
  expect_runs_again();
  a->free_bufs();
}

TEST_F(RdmaFailure, AReceiveTooSmallFailsAtBothEnds) {
  connect();
  const NetMemory there(b->device, 64);
  b->submit(&Rdma::receive, b->room(there, 0, 63));
  a->submit(&Rdma::send, *ab, a->data(*local, 0, 64));
  expect_fatal(Status::io_failed);
  ASSERT_THAT(b->completions, SizeIs(1));
  EXPECT_EQ(b->completions[0].status, Status::io_failed);
  expect_runs_again();
}

TEST_F(RdmaFailure, APeerThatNeverReceives) {
  a->rdma->set_rnr_retry_count(2);
  connect();
  a->submit(&Rdma::send, *ab, a->data(*local, 0, 64));
  expect_fatal(Status::time_out);
  expect_runs_again();
}

TEST_F(RdmaFailure, AReceiveInTimeIsFound) {
  a->rdma->set_rnr_retry_count(is_simulated() ? 6 : Rdma::retry_for_ever);  // a device retries at its own pace
  connect();
  a->submit(&Rdma::send, *ab, a->data(*local, 0, 64));
  for (int i = 0; i < 10; ++i) {
    a->pe->progress();
  }
  const NetMemory there(b->device, 64);
  b->submit(&Rdma::receive, b->room(there, 0, 64));
  ASSERT_TRUE(run(1, 1));
  EXPECT_EQ(a->completions[0].status, Status::success);
}

TEST_F(RdmaFailure, AFailedTaskFlushesTheOthers) {
  connect();
  a->submit(&Rdma::send, *ab, a->data(*local, 0, 64));  // waits for a receive
  a->submit(&Rdma::receive, a->room(*local, 64, 64));
  RdmaTask* const bad = a->submit(&Rdma::write, *ab, a->data(*local, 0, 64), nullptr);
  ASSERT_NE(bad, nullptr);
  b->submit(&Rdma::receive, nullptr);
  ASSERT_TRUE(run([&] { return a->rdma->state() == ContextState::idle; }));
  ASSERT_THAT(a->completions, SizeIs(3));
  EXPECT_EQ(a->completions[0].status, Status::io_failed) << "64 bytes into an empty receive";
  EXPECT_EQ(a->completions[1].status, Status::shutdown);
  EXPECT_EQ(a->completions[2].status, Status::shutdown);
}

TEST_F(RdmaFailure, SubmissionOnAnEndedConnectionIsRefused) {
  connect_in_touch();
  RdmaTask* task = nullptr;
  ASSERT_EQ(a->rdma->send(*ab, nullptr, 0, task), Status::success);
  ba->disconnect();
  ASSERT_TRUE(run([&] { return a->downs.size() == 1; }));
  EXPECT_EQ(task->submit(), Status::not_connected);
  EXPECT_EQ(task->free(), Status::success);
}

TEST_F(RdmaFailure, ARemovedDeviceFailsWhatIsThereAndTheContext) {
  if (!is_simulated()) {
    GTEST_SKIP() << "the simulator's removal; that of a device of verbs is in backend/verbs/rdma_test";
  }
  connect();
  a->submit(&Rdma::receive, nullptr);
  sim::remove_device("pf0");
  a->submit(&Rdma::send, *ab, nullptr);
  ASSERT_TRUE(run([&] { return a->rdma->state() == ContextState::idle; }));
  sim::restore_device("pf0");
  ASSERT_THAT(a->completions, SizeIs(2));
  EXPECT_EQ(a->completions[0].status, Status::driver);
  EXPECT_EQ(a->rdma->failure(), Status::driver);
  EXPECT_EQ(ab->failure(), Status::driver);
  ASSERT_TRUE(run([&] { return b->downs.size() == 1; }));
}

TEST_F(RdmaFailure, ASyncEventOfAnotherThanThePeer) {
  if (is_one_device()) {
    GTEST_SKIP() << "the only device is the peer's; give another one as PYDOCA_TEST_PEER";
  }
  connect();
  const auto event = SyncEvent::create();
  event->add_publisher_location(SyncEventLocation::remote_net);
  event->add_subscriber_location_cpu(is_simulated() ? open_function("p0") : a->device);
  event->start();
  const auto handle = SyncEventRemoteNet::create_from_export(a->device, event->export_to_remote_net());
  a->submit(&Rdma::remote_net_sync_event_get, *ab, handle, a->room(*local, 0, 8));
  expect_fatal(Status::io_failed);
  expect_runs_again();
  handle->close();
  event->close();
}

TEST_F(RdmaFailure, AStoppedSyncEvent) {
  connect();
  const auto event = SyncEvent::create();
  event->add_publisher_location(SyncEventLocation::remote_net);
  event->add_subscriber_location_cpu(b->device);
  event->start();
  const auto handle = SyncEventRemoteNet::create_from_export(a->device, event->export_to_remote_net());
  event->close();
  a->submit(&Rdma::remote_net_sync_event_notify_add, *ab, handle, a->room(*local, 0, 8), std::uint64_t{1});
  expect_fatal(Status::io_failed);
  expect_runs_again();
  handle->close();
}

}  // namespace
}  // namespace pydoca
