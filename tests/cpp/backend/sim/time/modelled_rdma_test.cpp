/// RDMA between two simulated devices of which one has a timing model, in real time: lower bounds only.

#include <pydoca/sim.hpp>

#include "detail/time/time.hpp"
#include "rig/library/rdma_rig.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <vector>

namespace pydoca {
namespace {

using namespace std::chrono_literals;
using testing::Each;

class ModelledRdmaTest : public RdmaTest {
 protected:
  /// Connects pf0, whose operations have these models, with p1.
  void connect_modelled(const std::map<std::string, sim::OperationTiming, std::less<>>& operations) {
    a.reset();
    b.reset();
    sim::Config config;
    config.devices["pf0"].operations = operations;
    sim::set_config(config);
    a = std::make_unique<RdmaRig>("pf0");
    b = std::make_unique<RdmaRig>("p1");
    local = std::make_unique<NetMemory>(a->device, 4096);
    remote = std::make_unique<NetMemory>(b->device, 4096);
    map = imported(*remote);
    local->fill(1);
    connect();
  }
  void TearDown() override {
    map.reset();
    a->free_bufs();
    b->free_bufs();
    RdmaTest::TearDown();
    local.reset();
    remote.reset();
  }
  void write(std::size_t offset, std::size_t len = 8) {
    a->submit(&Rdma::write, *ab, a->data(*local, offset, len), a->room(map, remote->addr(offset), len));
  }
  std::vector<Status> statuses() const {
    std::vector<Status> all;
    for (const auto& completion : a->completions) {
      all.push_back(completion.status);
    }
    return all;
  }

  std::unique_ptr<NetMemory> local;
  std::unique_ptr<NetMemory> remote;
  std::shared_ptr<Mmap> map;
};

TEST_F(ModelledRdmaTest, ThePeerSeesAWriteWhenItIsDue) {
  connect_modelled({{"rdma_write", {.latency = 3ms}}});
  remote->word() = 0;
  const std::uint64_t begin = detail::now();
  write(0);
  ASSERT_TRUE(run([&] { return remote->word() == local->word(); }));
  EXPECT_GE(detail::now() - begin, 3'000'000U);
  ASSERT_TRUE(run(1, 0));
}

TEST_F(ModelledRdmaTest, AMessageArrivesWhenItIsDue) {
  connect_modelled({{"rdma_send", {.latency = 3ms}}});
  b->submit(&Rdma::receive, b->room(*remote, 0, 100));
  const std::uint64_t begin = detail::now();
  a->submit(&Rdma::send, *ab, a->data(*local, 0, 100));
  ASSERT_TRUE(run(1, 1));
  EXPECT_GE(detail::now() - begin, 3'000'000U);
  EXPECT_EQ(b->completions[0].connection, ba.get());
}

TEST_F(ModelledRdmaTest, OneEngineServesEveryKind) {
  const sim::OperationTiming slow{.rate = 500};
  connect_modelled({{"rdma_write", slow}, {"rdma_read", slow}});
  const std::uint64_t begin = detail::now();
  write(0);
  a->submit(&Rdma::read, *ab, a->data(map, remote->addr(64), 8), a->room(*local, 64, 8));
  ASSERT_TRUE(run(2, 0));
  EXPECT_GE(detail::now() - begin, 4'000'000U);
}

TEST_F(ModelledRdmaTest, AConnectionIsInOrderWhateverItsJitter) {
  const sim::Jitter jitter{.distribution = sim::JitterDistribution::exponential, .spread = 50us};
  connect_modelled({{"rdma_write", {.jitter = jitter}}, {"rdma_read", {}}});
  for (std::size_t i = 0; i < 16; ++i) {
    write(i * 8);
  }
  ASSERT_TRUE(run(16, 0));
  for (std::size_t i = 0; i < 16; ++i) {
    EXPECT_EQ(a->completions[i].user_data, i);
  }
  EXPECT_THAT(statuses(), Each(Status::success));
}

TEST_F(ModelledRdmaTest, AStopBringsBackAtOnceWhatIsNotDue) {
  connect_modelled({{"rdma_write", {.latency = 1h}}});
  remote->word() = 0;
  write(0);
  write(8);
  a->stop();
  EXPECT_EQ(statuses(), (std::vector{Status::shutdown, Status::shutdown}));
  EXPECT_EQ(remote->word(), 0U);
}

TEST_F(ModelledRdmaTest, APeerThatLeavesEndsWhatIsNotDue) {
  connect_modelled({{"rdma_write", {.latency = 1h}}});
  write(0);
  write(8);
  ba->disconnect();
  ASSERT_TRUE(run(2, 0));
  EXPECT_EQ(statuses(), (std::vector{Status::connection_reset, Status::connection_reset}));
  EXPECT_EQ(a->rdma->state(), ContextState::running);
}

TEST_F(ModelledRdmaTest, ARemovalEndsWhatIsNotDue) {
  connect_modelled({{"rdma_write", {.latency = 1h}}});
  write(0);
  write(8);
  sim::remove_device("pf0");
  ASSERT_TRUE(run(2, 0));
  for (const Status status : statuses()) {
    EXPECT_TRUE(status == Status::driver || status == Status::shutdown) << static_cast<int>(status);
  }
  ASSERT_TRUE(run([&] { return a->rdma->state() == ContextState::idle; }));
  EXPECT_EQ(a->rdma->failure(), Status::driver);
}

TEST_F(ModelledRdmaTest, ConnectionsByAddressHaveTheModelToo) {
  connect_modelled({{"rdma_write", {.latency = 2ms}}});
  a->stop();
  b->stop();
  start();
  a->on_request = [](RdmaConnection& connection) { connection.accept(); };
  a->rdma->start_listen_to_port(port);
  const auto up = b->rdma->connect_to_addr(address_of(*a->device, port));
  ASSERT_TRUE(run([&] { return a->ups.size() == 2 && b->ups.size() == 2; }));
  ab = a->ups[1];
  const std::uint64_t begin = detail::now();
  write(0);
  ASSERT_TRUE(run(1, 0));
  EXPECT_GE(detail::now() - begin, 2'000'000U);
  EXPECT_EQ(statuses(), std::vector{Status::success});
}

}  // namespace
}  // namespace pydoca
