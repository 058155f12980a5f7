#pragma once

/// The requirements on Rdma with every backend: two contexts on one device, in one process, each on its own engine.

#include "backend/conformance.hpp"
#include "rig/bytes.hpp"
#include "rig/library/rdma_rig.hpp"

#include <gmock/gmock.h>

#include <array>
#include <unistd.h>

namespace pydoca::conformance {

class RdmaConformance : public Conformance {
 protected:
  static constexpr std::size_t size = std::size_t{1} << 20;
  /// Differs between processes: tests that run at the same time share the fabric and the machine.
  const std::uint16_t port = static_cast<std::uint16_t>(10'000 + ::getpid() % 20'000);

  void SetUp() override {
    Conformance::SetUp();
    if (IsSkipped()) {
      return;
    }
    if (!can().rdma.has_value()) {
      GTEST_SKIP() << can().no_rdma;
    }
    a = std::make_unique<RdmaRig>(device, ProgressEngine::create());
    b = std::make_unique<RdmaRig>(device, ProgressEngine::create());
    local = std::make_unique<NetMemory>(device, size);
    remote = std::make_unique<NetMemory>(device, size);
    map = Mmap::create_from_export(device, remote->blob);
    local->fill(1);
    remote->fill(2);
  }
  void TearDown() override {
    ab.reset();
    ba.reset();
    a.reset();
    b.reset();
  }

  void start() {
    ASSERT_EQ(a->rdma->start(), Status::success);
    ASSERT_EQ(b->rdma->start(), Status::success);
  }
  void connect_again() {
    ab = a->rdma->export_connection();
    ba = b->rdma->export_connection();
    a->rdma->connect(ba->details(), *ab);
    b->rdma->connect(ab->details(), *ba);
    ASSERT_TRUE(run([&] { return !a->ups.empty() && a->ups.back() == ab && !b->ups.empty() && b->ups.back() == ba; }));
  }
  void connect() {
    start();
    connect_again();
  }
  /// The address of the device, in the form that every fabric routes.
  RdmaAddress address() const { return address_of(*device, port); }
  bool has(RdmaTaskKind kind) const { return Rdma::is_task_supported(device->info(), kind); }
  bool run(const std::function<bool()>& done) { return run_until({a.get(), b.get()}, done, std::chrono::seconds(60)); }
  bool run(std::size_t of_a, std::size_t of_b) {
    return run([&] { return a->completions.size() >= of_a && b->completions.size() >= of_b; });
  }
  Buf* far_room(std::size_t offset, std::size_t len) { return a->room(map, remote->addr(offset), len); }
  Buf* far_data(std::size_t offset, std::size_t len) { return a->data(map, remote->addr(offset), len); }
  void expect_same(std::size_t local_offset, std::size_t remote_offset, std::size_t len) const {
    EXPECT_TRUE(same(local->bytes.subspan(local_offset, len), remote->bytes.subspan(remote_offset, len)));
  }
  /// a's first task fails in the device: the context becomes idle without a stop(), reports the end of its
  /// connection, and runs again.
  void expect_fatal(Status status) {
    ASSERT_TRUE(run([&] { return a->rdma->state() == ContextState::idle; }));
    ASSERT_FALSE(a->completions.empty());
    EXPECT_EQ(a->completions[0].status, status);
    EXPECT_EQ(a->downs.size(), 1U);
    EXPECT_EQ(ab->failure(), status);
    if (ba->is_connected()) {
      ba->disconnect();  // only some transports report it to a
    }
    ASSERT_TRUE(run([&] { return b->downs.size() == 1; }));
    ASSERT_EQ(a->rdma->start(), Status::success);
    connect_again();
    b->submit(&Rdma::receive, nullptr);
    a->submit(&Rdma::send, *ab, nullptr);
    const std::size_t before = a->completions.size();
    ASSERT_TRUE(run([&] { return a->completions.size() > before; }));
    EXPECT_EQ(a->completions.back().status, Status::success);
  }

  std::unique_ptr<RdmaRig> a;
  std::unique_ptr<RdmaRig> b;
  std::unique_ptr<NetMemory> local;
  std::unique_ptr<NetMemory> remote;
  std::shared_ptr<Mmap> map;
  std::shared_ptr<RdmaConnection> ab;
  std::shared_ptr<RdmaConnection> ba;
};

}  // namespace pydoca::conformance
