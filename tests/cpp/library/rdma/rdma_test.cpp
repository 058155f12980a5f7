/// The effects of tasks, in one process.

#include "rig/bytes.hpp"
#include "rig/expect_error.hpp"
#include "rig/library/rdma_rig.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace pydoca {
namespace {

using enum RdmaTaskKind;

class RdmaTasks : public RdmaTest {
 protected:
  static constexpr std::size_t size = std::size_t{4} << 20;

  void SetUp() override {
    connect();
    local = std::make_unique<NetMemory>(a->device, size);
    remote = std::make_unique<NetMemory>(b->device, size);
    remote_map = imported(*remote);
    local->fill(1);
    remote->fill(2);
  }
  void TearDown() override {
    RdmaTest::TearDown();
    remote_map.reset();
  }
  Buf* far_room(std::size_t offset, std::size_t len) { return a->room(remote_map, remote->addr(offset), len); }
  Buf* far_data(std::size_t offset, std::size_t len) { return a->data(remote_map, remote->addr(offset), len); }
  void expect_same(std::size_t local_offset, std::size_t remote_offset, std::size_t len) const {
    EXPECT_TRUE(same(local->bytes.subspan(local_offset, len), remote->bytes.subspan(remote_offset, len)));
  }

  std::unique_ptr<NetMemory> local;
  std::unique_ptr<NetMemory> remote;
  std::shared_ptr<Mmap> remote_map;
};

TEST_F(RdmaTasks, WritePlacesDataAtThePeersTailroom) {
  Buf* const src = a->data(*local, 0, 4096);
  Buf* const dst = far_room(8192, 4096);
  a->submit(&Rdma::write, *ab, src, dst);
  ASSERT_TRUE(run(1, 0));
  EXPECT_EQ(a->completions[0].status, Status::success);
  expect_same(0, 8192, 4096);
  EXPECT_EQ(dst->data_len(), 0U) << "a remote buf is not changed";
}

TEST_F(RdmaTasks, ReadAppendsThePeersData) {
  Buf* const src = far_data(100, 5000);
  Buf* const dst = a->room(*local, 0, 6000);
  a->submit(&Rdma::read, *ab, src, dst);
  ASSERT_TRUE(run(1, 0));
  EXPECT_EQ(a->completions[0].status, Status::success);
  EXPECT_EQ(a->completions[0].result_len, 5000U);
  EXPECT_EQ(dst->data_len(), 5000U);
  expect_same(0, 100, 5000);
}

TEST_F(RdmaTasks, WholeMemoryIsMovedInPieces) {
  a->submit(&Rdma::write, *ab, a->data(*local, 0, size), far_room(0, size));
  ASSERT_TRUE(run(1, 0));
  expect_same(0, 0, size);
  remote->fill(9);
  a->submit(&Rdma::read, *ab, far_data(0, size), a->room(*local, 0, size));
  ASSERT_TRUE(run(2, 0));
  expect_same(0, 0, size);
}

TEST_F(RdmaTasks, AnEnginesCallMovesAPieceOrTwo) {
  if (!is_simulated()) {
    GTEST_SKIP() << "a real device moves the bytes without the CPU";
  }
  constexpr std::size_t piece = std::size_t{256} << 10;
  a->submit(&Rdma::write, *ab, a->data(*local, 0, size), far_room(0, size));
  std::size_t calls = 0;
  while (a->completions.empty() && calls < 1000) {
    a->pe->progress();
    ++calls;
  }
  EXPECT_GE(calls, size / piece / 2);
  expect_same(0, 0, size);
}

TEST_F(RdmaTasks, ListsAreGatheredAndScattered) {
  Buf* const src = a->data(*local, 0, 1000);
  ASSERT_EQ(src->chain(*a->data(*local, 5000, 3000)), Status::success);
  a->submit(&Rdma::write, *ab, src, far_room(0, 4000));
  ASSERT_TRUE(run(1, 0));
  expect_same(0, 0, 1000);
  expect_same(5000, 1000, 3000);
  Buf* const dst = a->room(*local, 10'000, 7);
  ASSERT_EQ(dst->chain(*a->room(*local, 20'000, 5000)), Status::success);
  a->submit(&Rdma::read, *ab, far_data(0, 4000), dst);
  ASSERT_TRUE(run(2, 0));
  expect_same(10'000, 0, 7);
  expect_same(20'000, 7, 3993);
  EXPECT_EQ(dst->next()->data_len(), 3993U);
}

TEST_F(RdmaTasks, WithoutBufsNothingIsMoved) {
  a->submit(&Rdma::write, *ab, nullptr, nullptr);
  a->submit(&Rdma::read, *ab, nullptr, nullptr);
  b->submit(&Rdma::receive, nullptr);
  a->submit(&Rdma::send, *ab, nullptr);
  ASSERT_TRUE(run(3, 1));
  EXPECT_THAT(a->completions, testing::Each(testing::Field(&RdmaRig::Completion::status, Status::success)));
  EXPECT_EQ(b->completions[0].status, Status::success);
  EXPECT_EQ(b->completions[0].result_len, 0U);
}

TEST_F(RdmaTasks, SendFillsTheReceive) {
  Buf* const dst = b->room(*remote, 64, 1000);
  b->submit(&Rdma::receive, dst);
  a->submit(&Rdma::send, *ab, a->data(*local, 0, 700));
  ASSERT_TRUE(run(1, 1));
  EXPECT_EQ(b->completions[0].status, Status::success);
  EXPECT_EQ(b->completions[0].result_len, 700U);
  EXPECT_EQ(b->completions[0].opcode, RdmaOpcode::recv_send);
  EXPECT_EQ(b->completions[0].connection, ba.get());
  EXPECT_EQ(dst->data_len(), 700U);
  expect_same(0, 64, 700);
}

TEST_F(RdmaTasks, AFreedReceiveTellsOfItsMessageUntilItIsTakenAgain) {
  Buf* const dst = b->room(*remote, 0, 100);
  RdmaTask* const task = b->submit(&Rdma::receive, dst);
  a->submit(&Rdma::send, *ab, a->data(*local, 0, 10));
  ASSERT_TRUE(run(1, 1));
  ASSERT_EQ(task->state(), Task::State::free);
  EXPECT_EQ(task->connection(), ba);
  EXPECT_EQ(task->dst_buf(), dst);
  EXPECT_EQ(task->result_len(), 10U);
  RdmaTask* again = nullptr;
  ASSERT_EQ(b->rdma->receive(nullptr, 0, again), Status::success);
  EXPECT_EQ(again->connection(), nullptr);
  EXPECT_EQ(again->dst_buf(), nullptr);
  EXPECT_EQ(again->free(), Status::success);
}

TEST_F(RdmaTasks, ImmediateDataGoesWithTheMessage) {
  b->submit(&Rdma::receive, b->room(*remote, 0, 100));
  Buf* const untouched = b->room(*remote, 100, 100);
  b->submit(&Rdma::receive, untouched);
  a->submit(&Rdma::send_imm, *ab, a->data(*local, 0, 10), 0x01020304U);
  a->submit(&Rdma::write_imm, *ab, a->data(*local, 10, 50), far_room(4096, 50), 0x0a0b0c0dU);
  ASSERT_TRUE(run(2, 2));
  EXPECT_EQ(b->completions[0].opcode, RdmaOpcode::recv_send_with_imm);
  EXPECT_EQ(b->completions[0].immediate, 0x01020304U);
  EXPECT_EQ(b->completions[1].opcode, RdmaOpcode::recv_write_with_imm);
  EXPECT_EQ(b->completions[1].immediate, 0x0a0b0c0dU);
  EXPECT_EQ(b->completions[1].result_len, 50U);
  EXPECT_EQ(untouched->data_len(), 0U) << "a write does not fill the receive that it takes";
  expect_same(10, 4096, 50);
}

TEST_F(RdmaTasks, AMessageLargerThanAnyQueueArrives) {
  b->submit(&Rdma::receive, b->room(*remote, 0, size));
  a->submit(&Rdma::send, *ab, a->data(*local, 0, size));
  ASSERT_TRUE(run(1, 1));
  EXPECT_EQ(b->completions[0].result_len, size);
  expect_same(0, 0, size);
}

TEST_F(RdmaTasks, ASendIsDoneThoughTheReceiverDoesNotLook) {
  b->submit(&Rdma::receive, b->room(*remote, 0, 4096));
  a->submit(&Rdma::send, *ab, a->data(*local, 0, 4096));
  ASSERT_TRUE(run_until({a.get()}, [&] { return a->completions.size() == 1; }));
  EXPECT_EQ(a->completions[0].status, Status::success);
}

TEST_F(RdmaTasks, MessagesKeepTheirOrderAndReceivesTheirs) {
  constexpr std::size_t count = 16;
  for (std::size_t i = 0; i < count; ++i) {
    b->submit(&Rdma::receive, b->room(*remote, i * 64, 64));
  }
  for (std::size_t i = 0; i < count; ++i) {
    a->submit(&Rdma::send, *ab, a->data(*local, i * 64, i + 1));
  }
  ASSERT_TRUE(run(count, count));
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_EQ(b->completions[i].user_data, i);
    EXPECT_EQ(b->completions[i].result_len, i + 1);
    expect_same(i * 64, i * 64, i + 1);
  }
}

TEST_F(RdmaTasks, ASendWaitsForAReceive) {
  a->submit(&Rdma::send, *ab, a->data(*local, 0, 100));
  a->submit(&Rdma::write, *ab, a->data(*local, 0, 100), far_room(1000, 100));
  for (int i = 0; i < 1000; ++i) {
    a->pe->progress();
    b->pe->progress();
  }
  EXPECT_TRUE(a->completions.empty()) << "and a task that was posted later waits behind it";
  b->submit(&Rdma::receive, b->room(*remote, 0, 100));
  ASSERT_TRUE(run(2, 1));
  expect_same(0, 0, 100);
  expect_same(0, 1000, 100);
}

TEST_F(RdmaTasks, AtomicsAnswerTheValueBefore) {
  remote->word(64) = 5;
  a->submit(&Rdma::atomic_fetch_add, *ab, far_data(64, 8), a->room(*local, 0, 8), std::uint64_t{37});
  a->submit(&Rdma::atomic_cmp_swp, *ab, far_data(64, 8), a->room(*local, 8, 8), std::uint64_t{42}, std::uint64_t{7});
  a->submit(&Rdma::atomic_cmp_swp, *ab, far_data(64, 8), a->room(*local, 16, 8), std::uint64_t{1}, std::uint64_t{2});
  ASSERT_TRUE(run(3, 0));
  EXPECT_EQ(local->word(0), 5U);
  EXPECT_EQ(local->word(8), 42U);
  EXPECT_EQ(local->word(16), 7U) << "the values differ, so they are not swapped";
  EXPECT_EQ(remote->word(64), 7U);
}

TEST_F(RdmaTasks, SyncEventsOfThePeerAreReadSetAndAdded) {
  const auto event = SyncEvent::create();
  event->add_publisher_location(SyncEventLocation::remote_net);
  event->add_subscriber_location_cpu(b->device);
  event->start();
  const auto handle = SyncEventRemoteNet::create_from_export(a->device, event->export_to_remote_net());
  local->word(0) = 40;
  a->submit(&Rdma::remote_net_sync_event_notify_set, *ab, handle, a->data(*local, 0, 8));
  a->submit(&Rdma::remote_net_sync_event_notify_add, *ab, handle, a->room(*local, 64, 8), std::uint64_t{2});
  a->submit(&Rdma::remote_net_sync_event_get, *ab, handle, a->room(*local, 128, 8));
  ASSERT_TRUE(run(3, 0));
  EXPECT_EQ(local->word(64), 40U);
  EXPECT_EQ(local->word(128), 42U);
  EXPECT_EQ(event->wait_eq(42, ~std::uint64_t{0}, WaitMode::busy, std::chrono::seconds(10)), Status::success);
  handle->close();
  event->close();
}

TEST_F(RdmaTasks, GoOverAnotherConnectionNextTime) {
  a->stop();
  b->stop();
  a->rdma->set_max_num_connections(2);
  b->rdma->set_max_num_connections(2);
  start();
  std::shared_ptr<RdmaConnection> first, second, of_first, of_second;
  connect_by_details(*a, *b, first, of_first);
  connect_by_details(*a, *b, second, of_second);
  b->submit(&Rdma::receive, nullptr);
  b->submit(&Rdma::receive, nullptr);
  a->on_completion = [&](RdmaTask& task) {
    if (a->completions.size() == 1) {
      EXPECT_EQ(task.set_connection(second), Status::success);
      EXPECT_EQ(task.submit(), Status::success);
    }
  };
  RdmaTask* const task = a->submit(&Rdma::send, *first, nullptr);
  EXPECT_EQ(task->set_connection(second), Status::in_use) << "it is in flight";
  ASSERT_TRUE(run(2, 2));
  EXPECT_EQ(b->completions[0].connection, of_first.get());
  EXPECT_EQ(b->completions[1].connection, of_second.get());
}

TEST_F(RdmaTasks, RefuseTheConnectionOfAnotherContext) {
  RdmaTask* task = nullptr;
  ASSERT_EQ(a->rdma->send(*ab, nullptr, 0, task), Status::success);
  EXPECT_EQ(task->set_connection(ba), Status::invalid_value);
  EXPECT_EQ(task->set_connection(nullptr), Status::invalid_value);
  EXPECT_EQ(task->set_sync_event(nullptr), Status::invalid_value) << "a send has no event";
  EXPECT_EQ(task->connection(), ab);
  EXPECT_EQ(task->free(), Status::success);
}

TEST_F(RdmaTasks, BothSidesSendAtOnce) {
  b->submit(&Rdma::receive, b->room(*remote, 0, 100));
  a->submit(&Rdma::receive, a->room(*local, 1000, 100));
  a->submit(&Rdma::send, *ab, a->data(*local, 0, 100));
  b->submit(&Rdma::send, *ba, b->data(*remote, 1000, 100));
  ASSERT_TRUE(run(2, 2));
  expect_same(0, 0, 100);
  expect_same(1000, 1000, 100);
}

TEST_F(RdmaTasks, UnflushedTasksWaitForTheFlush) {
  RdmaTask* task = nullptr;
  ASSERT_EQ(a->rdma->write(*ab, a->data(*local, 0, 64), far_room(0, 64), 0, task), Status::success);
  ASSERT_EQ(task->submit(SubmitFlags::none), Status::success);
  for (int i = 0; i < 100; ++i) {
    a->pe->progress();
  }
  EXPECT_TRUE(a->completions.empty());
  a->rdma->flush_tasks();
  ASSERT_TRUE(run(1, 0));
  expect_same(0, 0, 64);
}

TEST_F(RdmaTasks, ABufThatWasGivenBackIsNotTaken) {
  RdmaTask* task = nullptr;
  Buf* freed = nullptr;
  Buf* const src = a->data(*local, 0, 64);
  Buf* const dst = far_room(0, 64);
  ASSERT_EQ(a->inventory->get_by_data(local->mmap, local->addr(0), 64, freed), Status::success);
  ASSERT_EQ(freed->dec_refcount(), Status::success);
  ASSERT_EQ(a->rdma->write(*ab, freed, dst, 0, task), Status::success);
  for (const char* const operand : {"src", "dst"}) {
    EXPECT_EQ(task->try_submit(), Status::invalid_value);
    EXPECT_EQ(task->submit(), Status::invalid_value);
    EXPECT_EQ(task->explain(Status::invalid_value),
              std::string(operand) + " was given back before the submission; keep a reference until the completion");
    ASSERT_EQ(task->set_src_buf(src), Status::success);
    ASSERT_EQ(task->set_dst_buf(freed), Status::success);
  }
  EXPECT_EQ(task->free(), Status::success);
}

TEST_F(RdmaTasks, TrySubmitFindsWhatTheDeviceWouldRefuse) {
  RdmaTask* task = nullptr;
  ASSERT_EQ(a->rdma->write(*ab, a->data(*local, 0, 100), far_room(0, 99), 0, task), Status::success);
  EXPECT_EQ(task->try_submit(), Status::invalid_value) << "dst too small";
  EXPECT_EQ(task->set_dst_buf(nullptr), Status::success);
  EXPECT_EQ(task->try_submit(), Status::invalid_value) << "no dst";
  EXPECT_EQ(task->set_result_buf(task->src_buf()), Status::invalid_value) << "a write has no result buf";
  EXPECT_EQ(task->set_immediate_data(1), Status::invalid_value);
  EXPECT_EQ(task->free(), Status::success);
  ASSERT_EQ(a->rdma->atomic_fetch_add(*ab, far_data(4, 8), a->room(*local, 0, 8), 1, 0, task), Status::success);
  EXPECT_EQ(task->try_submit(), Status::invalid_value) << "not aligned";
  EXPECT_EQ(task->set_dst_buf(far_data(8, 8)), Status::success);
  EXPECT_EQ(task->set_result_buf(a->room(*local, 0, 7)), Status::success);
  EXPECT_EQ(task->try_submit(), Status::invalid_value) << "no room for the result";
  EXPECT_EQ(task->free(), Status::success);
}

TEST_F(RdmaTasks, PoolsAndQueuesAreBounded) {
  RdmaTask* task = nullptr;
  std::vector<RdmaTask*> tasks;
  for (int i = 0; i < 16; ++i) {
    ASSERT_EQ(a->rdma->receive(nullptr, 0, task), Status::success);
    tasks.push_back(task);
  }
  EXPECT_EQ(a->rdma->receive(nullptr, 0, task), Status::no_memory);
  for (RdmaTask* const taken : tasks) {
    EXPECT_EQ(taken->free(), Status::success);
  }
  EXPECT_EQ(a->rdma->send_queue_size(), 256U) << "ten kinds of 16, and the next power of 2";
  EXPECT_EQ(a->rdma->recv_queue_size(), 16U);
}

}  // namespace
}  // namespace pydoca
