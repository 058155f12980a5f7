/// A connection in steps, while the peer is silent: this test is in the place of the process that would answer.

#include "pydoca/rdma_connect.hpp"

#include "backend/sim/fabric/fabric.hpp"
#include "backend/sim/memory/blob.hpp"
#include "rig/expect_error.hpp"
#include "rig/library/rdma_rig.hpp"
#include "rig/process/owners_place.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <vector>

namespace pydoca::silent_peer {
namespace {

/// Details of a connection whose owner does not answer.
class SilentPeer {
 public:
  explicit SilentPeer(const RdmaConnection& connection) {
    sim::Blob blob;
    EXPECT_EQ(sim::parse(connection.details(), blob), Status::success);
    listener_ = take_place_of_owner(blob);
    const auto encoded = sim::encode(blob);
    details_.assign(encoded.begin(), encoded.end());
  }
  const std::vector<std::byte>& details() const noexcept { return details_; }

 private:
  std::vector<std::byte> details_;
  sim::ListeningSocket listener_;
};

class ConnectInSteps : public RdmaTest {
 protected:
  void SetUp() override {
    start();
    connection = a->rdma->export_connection();
    peer = std::make_unique<SilentPeer>(*b->rdma->export_connection());
    pending = RdmaConnect::begin(connection, peer->details(), std::chrono::hours(1));
    pending->set_callback([this] { ++told; });
    a->pe->progress();
    EXPECT_FALSE(pending->is_over());
  }
  void TearDown() override {
    pending.reset();
    peer.reset();
    connection.reset();
    RdmaTest::TearDown();
  }
  void expect_end() {
    EXPECT_TRUE(run([this] { return told != 0; }));
    EXPECT_EQ(thrown_by([this] { pending->take(); }), Status::not_connected);
  }

  std::shared_ptr<RdmaConnection> connection;
  std::unique_ptr<SilentPeer> peer;
  std::unique_ptr<RdmaConnect> pending;
  int told = 0;
};

TEST_F(ConnectInSteps, EndsWithItsConnection) {
  connection->disconnect();
  expect_end();
}

TEST_F(ConnectInSteps, EndsWithItsContext) {
  a->stop();
  expect_end();
}

TEST_F(ConnectInSteps, MayBeGivenUpBeforeItsConnectionEnds) {
  pending.reset();
  connection->disconnect();
  EXPECT_EQ(connection->state(), RdmaConnection::State::closed);
  EXPECT_EQ(told, 0);
}

}  // namespace
}  // namespace pydoca::silent_peer
