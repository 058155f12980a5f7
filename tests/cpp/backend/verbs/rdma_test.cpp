#include "backend/verbs/rdma_fixture.hpp"
#include "rig/bytes.hpp"
#include "rig/expect_error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pydoca::verbs {
namespace {

using ::testing::Each;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using State = RdmaConnection::State;

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
  b->submit(&Rdma::send, *ba, nullptr);  // b has no receive for it
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

TEST_F(VerbsRdma, APeerThatStopsInTheMiddleDoesNotKeepItsPlace) {
  b->rdma->set_connection_request_timeout(100);
  start();
  b->rdma->start_listen_to_port(port);
  b->on_request = [](RdmaConnection& connection) { connection.accept(); };
  ab = a->rdma->connect_to_addr(address());
  ASSERT_TRUE(run([&] { return b->requests.size() == 1; }));
  ASSERT_TRUE(run_until({b.get()}, [&] { return b->failures.size() == 1; }, std::chrono::seconds(50)));
  EXPECT_EQ(b->requests[0]->failure(), Status::time_out);
  EXPECT_THAT(b->ups, IsEmpty());
  RdmaRig c(a->device, ProgressEngine::create());
  ASSERT_EQ(c.rdma->start(), Status::success);
  const auto cb = c.rdma->connect_to_addr(address());
  EXPECT_TRUE(run_until({&c, b.get()}, [&] { return b->ups.size() == 1; }, std::chrono::seconds(50)));
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
  EXPECT_EQ(c.rdma->start(), Status::success);
  EXPECT_EQ(thrown_by([&] { c.rdma->start_listen_to_port(port); }), Status::connection_aborted);
  b->rdma->stop_listen_to_port(port);
  c.rdma->start_listen_to_port(port);
  EXPECT_EQ(thrown_by([&] { a->rdma->connect_to_addr(address(), 0, std::vector<std::byte>(57)); }),
            Status::invalid_value);
}

TEST_F(VerbsRdma, StoppingEndsEveryConnectionAndRunsAgain) {
  connect_by_address();
  b->submit(&Rdma::receive, nullptr);
  static_cast<void>(b->rdma->stop());
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
  static_cast<void>(b->rdma->stop());
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
  ba->disconnect();  // the other end learns of it when its next task fails
  a->submit(&Rdma::send, *ab, nullptr);
  a->submit(&Rdma::send, *ab, nullptr);
  ASSERT_TRUE(run(3, 1));
  EXPECT_EQ(a->completions.at(1).status, Status::connection_reset);
  EXPECT_EQ(a->completions.at(2).status, Status::connection_reset);
  ASSERT_TRUE(run([&] { return a->downs.size() == 1; }));
  EXPECT_EQ(a->rdma->state(), ContextState::running);
}

}  // namespace
}  // namespace pydoca::verbs
