#include "backend/rdma_conformance.hpp"

namespace pydoca::conformance {

TEST_P(RdmaConformance, EverySizeIsWrittenAndRead) {
  connect();
  std::size_t done = 0;
  for (const std::size_t length : {std::size_t{1}, std::size_t{64}, std::size_t{4096}, std::size_t{70'001}, size / 2}) {
    a->submit(&Rdma::write, *ab, a->data(*local, 0, length), far_room(0, length));
    a->submit(&Rdma::read, *ab, far_data(0, length), a->room(*local, size / 2, length));
    ASSERT_TRUE(run(done += 2, 0)) << length;
    expect_same(0, 0, length);
    expect_same(size / 2, 0, length);
    EXPECT_EQ(a->completions.back().result_len, length);
    a->free_bufs();
  }
  EXPECT_THAT(a->completions, testing::Each(testing::Field(&RdmaRig::Completion::status, Status::success)));
}

TEST_P(RdmaConformance, MessagesFillReceivesInOrder) {
  connect();
  constexpr std::size_t count = 8;
  for (std::size_t i = 0; i < count; ++i) {
    b->submit(&Rdma::receive, b->room(*remote, i * 1000, 1000));
  }
  for (std::size_t i = 0; i < count; ++i) {
    a->submit(&Rdma::send, *ab, a->data(*local, i * 1000, 100 * i + 1));
  }
  ASSERT_TRUE(run(count, count));
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_EQ(b->completions[i].status, Status::success);
    EXPECT_EQ(b->completions[i].user_data, i);
    EXPECT_EQ(b->completions[i].result_len, 100 * i + 1);
    EXPECT_EQ(b->completions[i].connection, ba.get());
    expect_same(i * 1000, i * 1000, 100 * i + 1);
  }
}

TEST_P(RdmaConformance, ImmediateDataArrives) {
  connect();
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
  EXPECT_EQ(untouched->data_len(), 0U);
  expect_same(10, 4096, 50);
}

TEST_P(RdmaConformance, AtomicsAnswerTheValueBefore) {
  if (!has(RdmaTaskKind::atomic_fetch_add)) {
    GTEST_SKIP() << can().rdma->no_opcode[static_cast<std::size_t>(RdmaTaskKind::atomic_fetch_add)];
  }
  connect();
  remote->word(64) = 5;
  a->submit(&Rdma::atomic_fetch_add, *ab, far_data(64, 8), a->room(*local, 0, 8), std::uint64_t{37});
  a->submit(&Rdma::atomic_cmp_swp, *ab, far_data(64, 8), a->room(*local, 8, 8), std::uint64_t{42}, std::uint64_t{7});
  a->submit(&Rdma::atomic_cmp_swp, *ab, far_data(64, 8), a->room(*local, 16, 8), std::uint64_t{1}, std::uint64_t{2});
  ASSERT_TRUE(run(3, 0));
  EXPECT_EQ(local->word(0), 5U);
  EXPECT_EQ(local->word(8), 42U);
  EXPECT_EQ(local->word(16), 7U);
  EXPECT_EQ(remote->word(64), 7U);
}

TEST_P(RdmaConformance, SyncEventsOfThePeerAreReadSetAndAdded) {
  if (!has(RdmaTaskKind::remote_net_sync_event_notify_add)) {
    GTEST_SKIP() << can().rdma->no_opcode[static_cast<std::size_t>(RdmaTaskKind::remote_net_sync_event_notify_add)];
  }
  connect();
  const auto event = SyncEvent::create();
  event->add_publisher_location(SyncEventLocation::remote_net);
  event->add_subscriber_location_cpu(device);
  event->start();
  const auto handle = SyncEventRemoteNet::create_from_export(device, event->export_to_remote_net());
  local->word(0) = 40;
  a->submit(&Rdma::remote_net_sync_event_notify_set, *ab, handle, a->data(*local, 0, 8));
  a->submit(&Rdma::remote_net_sync_event_notify_add, *ab, handle, a->room(*local, 64, 8), std::uint64_t{2});
  a->submit(&Rdma::remote_net_sync_event_get, *ab, handle, a->room(*local, 128, 8));
  ASSERT_TRUE(run(3, 0));
  EXPECT_EQ(local->word(64), 40U);
  EXPECT_EQ(local->word(128), 42U);
  EXPECT_EQ(event->wait_eq(42, ~std::uint64_t{0}, WaitMode::yield, std::chrono::seconds(10)), Status::success);
  handle->close();
  event->close();
}

TEST_P(RdmaConformance, AConnectionByAddressCarriesDataBothWaysAndEnds) {
  if (!Rdma::is_connection_manager_supported(device->info())) {
    GTEST_SKIP() << can().rdma->no_connection_manager;
  }
  start();
  b->on_request = [](RdmaConnection& connection) { connection.accept(std::array{std::byte{3}, std::byte{4}}); };
  b->rdma->start_listen_to_port(port);
  ab = a->rdma->connect_to_addr(address(), 7, std::array{std::byte{1}, std::byte{2}});
  ASSERT_TRUE(run([&] { return a->ups.size() == 1 && b->ups.size() == 1; }));
  ba = b->requests.at(0);
  ASSERT_GE(ba->private_data().size(), 2U);
  EXPECT_EQ(ba->private_data()[1], std::byte{2});
  ASSERT_GE(ab->private_data().size(), 2U);
  EXPECT_EQ(ab->private_data()[1], std::byte{4});
  b->submit(&Rdma::receive, nullptr);
  a->submit(&Rdma::send, *ab, nullptr);
  ASSERT_TRUE(run(1, 1));
  ab->disconnect();
  ASSERT_TRUE(run([&] { return a->downs.size() == 1 && b->downs.size() == 1; }));
  EXPECT_EQ(b->rdma->state(), ContextState::running);
}

TEST_P(RdmaConformance, ARejectedConnectionFails) {
  if (!Rdma::is_connection_manager_supported(device->info())) {
    GTEST_SKIP() << can().rdma->no_connection_manager;
  }
  start();
  b->on_request = [](RdmaConnection& connection) { connection.reject(); };
  b->rdma->start_listen_to_port(port);
  ab = a->rdma->connect_to_addr(address());
  ASSERT_TRUE(run([&] { return a->failures.size() == 1; }));
  EXPECT_EQ(ab->failure(), Status::connection_aborted);
  b->rdma->stop_listen_to_port(port);
  ab = a->rdma->connect_to_addr(address());
  ASSERT_TRUE(run([&] { return a->failures.size() == 2; }));
  EXPECT_NE(ab->failure(), Status::success) << "no context listens";
  EXPECT_EQ(a->rdma->state(), ContextState::running);
}

TEST_P(RdmaConformance, DetailsThatAreNoneAreRefused) {
  start();
  ab = a->rdma->export_connection();
  ba = b->rdma->export_connection();
  EXPECT_LT(ba->details().size(), 512U);
  for (std::size_t place = 0; place < ba->details().size(); ++place) {
    std::vector<std::byte> forged = ba->details();
    forged[place] ^= std::byte{0x10};
    const Status status = thrown_by([&] { a->rdma->connect(forged, *ab); });
    EXPECT_TRUE(status == Status::invalid_value || status == Status::unsupported_version) << place;
  }
  EXPECT_EQ(thrown_by([&] { a->rdma->connect(std::span(ba->details()).first(9), *ab); }), Status::invalid_value);
  a->rdma->connect(ba->details(), *ab);
  EXPECT_TRUE(ab->is_connected());
}

TEST_P(RdmaConformance, WritingNeedsThePermissionOfTheContext) {
  b->rdma->set_permissions(Access::rdma_read);
  connect();
  a->submit(&Rdma::write, *ab, a->data(*local, 0, 64), far_room(0, 64));
  expect_fatal(Status::io_failed);
}

TEST_P(RdmaConformance, WritingNeedsThePermissionOfTheMap) {
  connect();
  const NetMemory guarded(device, 4096, Access::rdma_read);
  const auto guarded_map = Mmap::create_from_export(device, guarded.blob);
  a->submit(&Rdma::write, *ab, a->data(*local, 0, 64), a->room(guarded_map, guarded.addr(), 64));
  expect_fatal(Status::io_failed);
  a->free_bufs();
}

TEST_P(RdmaConformance, MemoryThatWasWithdrawnFailsTheTask) {
  connect();
  auto gone = std::make_unique<NetMemory>(device, 4096);
  const auto gone_map = Mmap::create_from_export(device, gone->blob);
  gone->mmap->stop();
  a->submit(&Rdma::read, *ab, a->data(gone_map, gone->addr(), 64), a->room(*local, 0, 64));
  expect_fatal(Status::io_failed);
  a->free_bufs();
}

TEST_P(RdmaConformance, AReceiveTooSmallFailsAtBothEnds) {
  connect();
  b->submit(&Rdma::receive, b->room(*remote, 0, 63));
  a->submit(&Rdma::send, *ab, a->data(*local, 0, 64));
  ASSERT_TRUE(run(1, 1));
  EXPECT_EQ(b->completions[0].status, Status::io_failed);
  expect_fatal(Status::io_failed);
}

TEST_P(RdmaConformance, AReceiveThatMayNotBeWrittenTakesNoMessage) {
  connect();
  const auto sealed = Mmap::create();
  sealed->add_device(device);
  sealed->set_memrange(remote->bytes.data(), 64);
  sealed->set_permissions(Access::local_read_only);
  sealed->start();
  b->submit(&Rdma::receive, b->room(sealed, sealed->addr(), 64));
  a->submit(&Rdma::send, *ab, a->data(*local, 0, 64));
  ASSERT_TRUE(run(0, 1));
  EXPECT_EQ(b->completions[0].status, Status::io_failed);
  b->submit(&Rdma::receive, b->room(*remote, 0, 64));
  ASSERT_TRUE(run(1, 2));
  EXPECT_EQ(a->completions[0].status, Status::success);
  EXPECT_EQ(b->completions[1].status, Status::success);
  b->free_bufs();
}

TEST_P(RdmaConformance, APeerThatNeverReceivesFailsTheSend) {
  a->rdma->set_rnr_retry_count(1);
  connect();
  a->submit(&Rdma::send, *ab, a->data(*local, 0, 64));
  expect_fatal(Status::time_out);
}

TEST_P(RdmaConformance, StoppingBringsEverythingBackAndRunsAgain) {
  connect();
  for (int i = 0; i < 5; ++i) {
    a->submit(&Rdma::receive, nullptr);
  }
  a->submit(&Rdma::send, *ab, nullptr);  // waits for a receive
  a->stop();
  EXPECT_EQ(a->completions.size(), 6U);
  EXPECT_THAT(a->completions, testing::Each(testing::Field(&RdmaRig::Completion::status, Status::shutdown)));
  b->stop();
  a->completions.clear();
  b->completions.clear();
  connect();
  b->submit(&Rdma::receive, nullptr);
  a->submit(&Rdma::send, *ab, nullptr);
  ASSERT_TRUE(run(1, 1));
}

TEST_P(RdmaConformance, ThousandsOfTasksAllComeBack) {
  connect();
  constexpr std::size_t rounds = 200;
  for (std::size_t round = 1; round <= rounds; ++round) {
    for (std::size_t i = 0; i < 8; ++i) {
      b->submit(&Rdma::receive, nullptr);
      a->submit(&Rdma::write, *ab, a->data(*local, i * 64, 64), far_room(i * 64, 64));
      a->submit(&Rdma::send_imm, *ab, nullptr, static_cast<std::uint32_t>(round));
    }
    ASSERT_TRUE(run(round * 16, round * 8)) << round;
    a->free_bufs();
  }
  EXPECT_THAT(a->completions, testing::Each(testing::Field(&RdmaRig::Completion::status, Status::success)));
  expect_same(0, 0, 512);
}

}  // namespace pydoca::conformance
