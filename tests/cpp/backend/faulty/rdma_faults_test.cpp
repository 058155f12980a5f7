#include "backend/faulty/faults_rig.hpp"
#include "rig/bytes.hpp"
#include "rig/expect_error.hpp"
#include "rig/library/rdma_rig.hpp"

#include <algorithm>
#include <optional>

namespace pydoca {

using namespace std::chrono_literals;

/// Two connected contexts; the one on pf0, called a, has the plan's faults.
class RdmaFaults : public FaultsTest {
 protected:
  static constexpr std::size_t size = 4096;

  void connect(FaultRule rule) {
    rule.device = "pf0";
    inject({std::move(rule)});
    a = std::make_unique<RdmaRig>("pf0");
    b = std::make_unique<RdmaRig>("p1");
    local.emplace(a->device, size);
    remote.emplace(b->device, size);
    local->fill(1);
    remote->fill(2);
    map = Mmap::create_from_export(a->device, remote->blob);
    ASSERT_EQ(a->rdma->start(), Status::success);
    ASSERT_EQ(b->rdma->start(), Status::success);
    connect_again();
  }
  void connect_again() {
    const std::size_t before = a->ups.size();
    connect_by_details(*a, *b, ab, ba);
    ASSERT_TRUE(run([&] { return a->ups.size() == before + 1; }));
  }
  void TearDown() override {
    ab.reset();
    ba.reset();
    map.reset();
    a.reset();
    b.reset();
  }
  bool run(const std::function<bool()>& done) { return run_until({a.get(), b.get()}, done); }
  bool run(std::size_t of_a, std::size_t of_b = 0) {
    return run([&] { return a->completions.size() >= of_a && b->completions.size() >= of_b; });
  }
  void write(std::size_t offset = 0) {
    a->submit(&Rdma::write, *ab, a->data(*local, offset, 64), a->room(map, remote->addr(offset), 64));
  }
  std::size_t differing(std::size_t len = 64) const {
    std::size_t count = 0;
    for (std::size_t i = 0; i < len; ++i) {
      count += local->bytes[i] != remote->bytes[i] ? 1U : 0U;
    }
    return count;
  }

  std::unique_ptr<RdmaRig> a;
  std::unique_ptr<RdmaRig> b;
  std::optional<NetMemory> local;
  std::optional<NetMemory> remote;
  std::shared_ptr<Mmap> map;
  std::shared_ptr<RdmaConnection> ab;
  std::shared_ptr<RdmaConnection> ba;
};

TEST_F(RdmaFaults, AWriteFailsUndoneAndItsConnectionEnds) {
  connect({.opcodes = {"rdma.write"}, .nth = 2});
  write();
  write(64);
  write(128);
  ASSERT_TRUE(run([&] { return a->rdma->state() == ContextState::idle; }));
  ASSERT_EQ(a->completions.size(), 3U);
  EXPECT_EQ(a->completions[0].status, Status::success);
  EXPECT_EQ(a->completions[1].status, Status::io_failed);
  EXPECT_EQ(a->completions[2].status, Status::shutdown);
  EXPECT_NE(local->bytes[64], remote->bytes[64]);
  EXPECT_EQ(a->downs.size(), 1U);
  EXPECT_EQ(a->rdma->failure(), Status::io_failed);
}

TEST_F(RdmaFaults, ADroppedWriteIsFlushedByTheEndOfItsConnection) {
  connect({.action = FaultAction::drop, .opcodes = {"rdma.write"}, .nth = 1});
  write();
  write(64);
  ASSERT_TRUE(run(1));
  EXPECT_EQ(a->completions[0].user_data, 1U);
  EXPECT_EQ(differing(128), 0U);
  ab->disconnect();
  ASSERT_TRUE(run(2));
  EXPECT_EQ(a->completions[1].status, Status::shutdown);
}

TEST_F(RdmaFaults, CompletionsOfAConnectionKeepTheirOrderBehindADelayedOne) {
  connect({.action = FaultAction::delay, .opcodes = {"rdma.write"}, .nth = 1, .by = 20ms});
  for (std::size_t i = 0; i < 4; ++i) {
    write(i * 64);
  }
  ASSERT_TRUE(run(4));
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(a->completions[i].user_data, i);
    EXPECT_EQ(a->completions[i].status, Status::success);
  }
}

TEST_F(RdmaFaults, AWriteIsCorruptedBeforeItLeaves) {
  connect({.action = FaultAction::corrupt, .opcodes = {"rdma.write"}});
  write();
  ASSERT_TRUE(run(1));
  EXPECT_EQ(a->completions[0].status, Status::success);
  EXPECT_EQ(differing(), 1U);
}

TEST_F(RdmaFaults, AReadIsCorruptedWhereItArrives) {
  connect({.action = FaultAction::corrupt, .opcodes = {"rdma.read"}});
  a->submit(&Rdma::read, *ab, a->data(map, remote->addr(), 64), a->room(*local, 0, 64));
  ASSERT_TRUE(run(1));
  EXPECT_EQ(a->completions[0].status, Status::success);
  EXPECT_EQ(differing(), 1U);
}

TEST_F(RdmaFaults, StaleWritesKeepTheOrderOfTheirConnection) {
  connect({.action = FaultAction::corrupt, .opcodes = {"rdma.write"}, .nth = 2, .corruption = Corruption::stale});
  write();
  write(64);
  write(128);
  ASSERT_TRUE(run(3));
  EXPECT_EQ(a->completions[1].user_data, 1U);
  EXPECT_NE(local->bytes[64], remote->bytes[64]);
  EXPECT_EQ(local->bytes[128], remote->bytes[128]);
}

TEST_F(RdmaFaults, AMessageIsSentTwice) {
  connect({.action = FaultAction::duplicate, .opcodes = {"rdma.send"}});
  b->submit(&Rdma::receive, b->room(*remote, 0, 64));
  b->submit(&Rdma::receive, b->room(*remote, 64, 64));
  a->submit(&Rdma::send, *ab, a->data(*local, 0, 64));
  ASSERT_TRUE(run(1, 2));
  EXPECT_EQ(a->completions.size(), 1U);
  EXPECT_EQ(b->completions[1].result_len, 64U);
  EXPECT_EQ(b->completions[1].connection, ba.get());
}

TEST_F(RdmaFaults, AnAddComesTwice) {
  connect({.action = FaultAction::duplicate, .opcodes = {"rdma.atomic_fetch_add"}});
  remote->word() = 5;
  a->submit(&Rdma::atomic_fetch_add, *ab, a->data(map, remote->addr(), 8), a->room(*local, 0, 8), std::uint64_t{3});
  ASSERT_TRUE(run(1));
  EXPECT_EQ(remote->word(), 11U);
}

TEST_F(RdmaFaults, AReceiveReportsFewerBytes) {
  connect({.action = FaultAction::misreport_length, .opcodes = {"rdma.receive"}, .length = 7});
  a->submit(&Rdma::receive, a->room(*local, 0, 64));
  b->submit(&Rdma::send, *ba, b->data(*remote, 0, 64));
  ASSERT_TRUE(run(1, 1));
  EXPECT_EQ(a->completions[0].status, Status::success);
  EXPECT_EQ(a->completions[0].result_len, 7U);
  EXPECT_EQ(a->completions[0].connection, ab.get());
}

TEST_F(RdmaFaults, ALostNotificationComesWithTheNextCompletion) {
  connect({.action = FaultAction::lose_notification, .opcodes = {"rdma.write"}, .nth = 1});
  write();
  EXPECT_FALSE(run_until({a.get(), b.get()}, [&] { return !a->completions.empty(); }, std::chrono::seconds(0)));
  write(64);
  ASSERT_TRUE(run(2));
  EXPECT_EQ(a->completions[0].user_data, 0U);
}

TEST_F(RdmaFaults, AFullQueueAnswersAgain) {
  connect({.action = FaultAction::full, .opcodes = {"rdma.write"}, .times = 1});
  RdmaTask* task = nullptr;
  ASSERT_EQ(a->rdma->write(*ab, a->data(*local, 0, 64), a->room(map, remote->addr(), 64), 0, task), Status::success);
  EXPECT_EQ(task->submit(), Status::again);
  EXPECT_EQ(task->submit(), Status::success);
  ASSERT_TRUE(run(1));
}

TEST_F(RdmaFaults, AConnectionBreaksWithItsLinkAndAnotherIsMadeLater) {
  connect({.action = FaultAction::link_down, .opcodes = {"rdma.write"}, .nth = 2, .by = 20ms});
  write();
  ASSERT_TRUE(run(1));
  write(64);
  ASSERT_TRUE(run([&] { return a->downs.size() == 1; }));
  EXPECT_EQ(a->completions[1].status, Status::connection_reset);
  EXPECT_EQ(a->rdma->state(), ContextState::running);
  ASSERT_TRUE(run([&] { return b->downs.size() == 1; }));
  std::this_thread::sleep_for(30ms);
  connect_again();
  write();
  ASSERT_TRUE(run(3));
  EXPECT_EQ(a->completions[2].status, Status::success);
}

TEST_F(RdmaFaults, NoConnectionIsMadeWhileTheLinkIsDown) {
  connect({.action = FaultAction::link_down, .opcodes = {"rdma.write"}});
  write();
  ASSERT_TRUE(run([&] { return a->downs.size() == 1; }));
  const auto one = a->rdma->export_connection();
  const auto other = b->rdma->export_connection();
  EXPECT_EQ(thrown_by([&] { a->rdma->connect(other->details(), *one); }), Status::connection_aborted);
}

TEST_F(RdmaFaults, ARemovedDeviceFailsReceivesAndSends) {
  connect({.action = FaultAction::remove_device, .opcodes = {"rdma.write"}});
  a->submit(&Rdma::receive, a->room(*local, 0, 64));
  write();
  ASSERT_TRUE(run([&] { return a->rdma->state() == ContextState::idle; }));
  EXPECT_EQ(a->rdma->failure(), Status::driver);
  EXPECT_EQ(a->completions.size(), 2U);
  EXPECT_TRUE(a->device->removed());
}

}  // namespace pydoca
