#include "pydoca/sync_event.hpp"

#include "pydoca/memory.hpp"
#include "pydoca/sync_event_context.hpp"

#include "library/sync_event/sync_event.hpp"
#include "rig/expect_error.hpp"
#include "rig/library/memory_rig.hpp"
#include "rig/library/sync_event_rig.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <limits>
#include <thread>
#include <vector>

namespace pydoca {
namespace {

using std::chrono::milliseconds;
using Location = SyncEventLocation;

class SyncEventTest : public SyncEventRigTest {
 protected:
  static std::uint64_t value_of(const SyncEvent& event) {
    std::uint64_t value = 0;
    EXPECT_EQ(event.get(value), Status::success);
    return value;
  }

  std::shared_ptr<Device> host = open_function("pf0");
  std::shared_ptr<Device> dpu = open_function("p0");
};

TEST_F(SyncEventTest, StartsAtZeroAndCounts) {
  const auto event = local_event(dpu);
  EXPECT_FALSE(event->is_started());
  event->start();
  EXPECT_TRUE(event->is_started());
  EXPECT_EQ(value_of(*event), 0U);
  EXPECT_EQ(event->update_set(41), Status::success);
  std::uint64_t before = 0;
  EXPECT_EQ(event->update_add(1, before), Status::success);
  EXPECT_EQ(before, 41U);
  EXPECT_EQ(value_of(*event), 42U);
}

TEST_F(SyncEventTest, AdditionWraps) {
  const auto event = local_event(dpu);
  event->start();
  ASSERT_EQ(event->update_set(all_bits), Status::success);
  std::uint64_t before = 0;
  EXPECT_EQ(event->update_add(3, before), Status::success);
  EXPECT_EQ(before, all_bits);
  EXPECT_EQ(value_of(*event), 2U);
}

TEST_F(SyncEventTest, OnlyTheEventsValueIsMasked) {
  const auto event = local_event(dpu);
  event->start();
  ASSERT_EQ(event->update_set(0x1234), Status::success);
  for (const WaitMode mode : {WaitMode::busy, WaitMode::yield}) {
    EXPECT_EQ(event->wait_eq(0x34, 0xff, mode, milliseconds(1)), Status::success);
    EXPECT_EQ(event->wait_eq(0x1234, 0xff, mode, milliseconds(1)), Status::time_out);
    EXPECT_EQ(event->wait_gt(0x33, 0xff, mode, milliseconds(1)), Status::success);
    EXPECT_EQ(event->wait_gt(0x34, 0xff, mode, milliseconds(1)), Status::time_out);
    EXPECT_EQ(event->wait_neq(0x1234, 0xff, mode, milliseconds(1)), Status::success);
    EXPECT_EQ(event->wait_neq(0x34, 0xff, mode, milliseconds(1)), Status::time_out);
  }
}

TEST_F(SyncEventTest, NeedsAPublisherAndASubscriber) {
  const auto bare = SyncEvent::create();
  EXPECT_EQ(thrown_by([&] { bare->start(); }), Status::invalid_value);
  bare->add_publisher_location_cpu(dpu);
  EXPECT_EQ(thrown_by([&] { bare->start(); }), Status::invalid_value);
  EXPECT_EQ(thrown_by([&] { bare->add_publisher_location(Location::remote_pci); }), Status::invalid_value);
  EXPECT_EQ(thrown_by([&] { bare->add_subscriber_location_cpu(host); }), Status::invalid_value)
      << "a location on another device";
  bare->add_subscriber_location(Location::remote_pci);
  bare->start();
}

TEST_F(SyncEventTest, NeedsThisCpuSomewhere) {
  const auto event = SyncEvent::create();
  event->add_publisher_location(Location::remote_net);
  event->add_subscriber_location(Location::remote_pci);
  EXPECT_EQ(thrown_by([&] { event->start(); }), Status::invalid_value);
}

TEST_F(SyncEventTest, RefusesLocationsThatAreNotThere) {
  const auto event = SyncEvent::create();
  EXPECT_EQ(thrown_by([&] { event->add_publisher_location(Location::gpu); }), Status::not_supported);
  EXPECT_EQ(thrown_by([&] { event->add_subscriber_location(Location::gpu); }), Status::not_supported);
  EXPECT_EQ(thrown_by([&] { event->add_publisher_location(Location::dpa); }), Status::invalid_value) << "of which DPA";
  EXPECT_EQ(thrown_by([&] { event->add_subscriber_location(Location::remote_net); }), Status::not_supported);
  EXPECT_EQ(thrown_by([&] { event->add_publisher_location(Location::cpu); }), Status::invalid_value);
  EXPECT_FALSE(SyncEvent::is_export_to_gpu_supported(dpu->info()));
}

TEST_F(SyncEventTest, IsStartedOnce) {
  const auto event = local_event(dpu);
  EXPECT_EQ(thrown_by([&] { event->stop(); }), Status::invalid_value);
  event->start();
  EXPECT_EQ(thrown_by([&] { event->start(); }), Status::invalid_value);
  EXPECT_EQ(thrown_by([&] { event->set_addr(nullptr); }), Status::bad_state);
  EXPECT_EQ(thrown_by([&] { event->as_context(); }), Status::bad_state);
  event->stop();
  EXPECT_EQ(thrown_by([&] { event->start(); }), Status::invalid_value);
  EXPECT_EQ(event->update_set(1), Status::bad_state);
  EXPECT_EQ(event->wait_eq(0, all_bits, WaitMode::busy), Status::bad_state);
  event->close();
  event->close();
}

TEST_F(SyncEventTest, LivesInTheUsersMemory) {
  alignas(8) std::uint64_t word = 7;
  const auto event = local_event(dpu);
  EXPECT_EQ(thrown_by([&] { event->set_addr(nullptr); }), Status::invalid_value);
  EXPECT_EQ(thrown_by([&] { event->set_addr(reinterpret_cast<std::byte*>(&word) + 1); }), Status::invalid_value);
  event->set_addr(&word);
  event->start();
  EXPECT_EQ(value_of(*event), 7U);
  ASSERT_EQ(event->update_set(8), Status::success);
  EXPECT_EQ(word, 8U);
}

TEST_F(SyncEventTest, MemoryThatIsNotThereIsRefusedAtStart) {
  const auto event = local_event(dpu);
  event->set_addr(reinterpret_cast<void*>(8));
  EXPECT_EQ(thrown_by([&] { event->start(); }), Status::invalid_value);
}

TEST_F(SyncEventTest, LivesInABufWithTheRightPermissions) {
  constexpr Access needed = Access::local_read_write | Access::rdma_read | Access::rdma_write | Access::rdma_atomic;
  Bufs bufs(4);
  MappedBytes poor(dpu, 64);
  MappedBytes rich(dpu, 64, needed);
  Buf* const poor_buf = bufs.by_data(poor, 0, 8);
  Buf* const long_buf = bufs.by_data(rich, 0, 16);
  Buf* const buf = bufs.by_data(rich, 8, 8);
  {
    const auto event = local_event(dpu);
    EXPECT_EQ(thrown_by([&] { event->set_buf(*poor_buf); }), Status::not_permitted);
    EXPECT_EQ(thrown_by([&] { event->set_buf(*long_buf); }), Status::invalid_value);
    event->set_buf(*buf);
    EXPECT_EQ(buf->dec_refcount(), Status::not_permitted) << "the counter of the event is in it";
    EXPECT_EQ(thrown_by([&] { event->set_buf(*buf); }), Status::invalid_value);
    event->start();
    ASSERT_EQ(event->update_set(5), Status::success);
    EXPECT_EQ(static_cast<int>(rich.bytes[8]), 5);
  }
  EXPECT_FALSE(buf->in_flight());
  const auto remote = exported_event(dpu);
  remote->set_buf(*buf);
  EXPECT_EQ(thrown_by([&] { remote->start(); }), Status::not_permitted) << "the device has no pci_read_write";
  remote->close();
  Bufs::free({poor_buf, long_buf, buf});
}

TEST_F(SyncEventTest, EndsAWaitFromAnotherThread) {
  for (const WaitMode mode : {WaitMode::busy, WaitMode::yield}) {
    const auto event = local_event(dpu);
    event->start();
    std::thread publisher([&] {
      std::uint64_t before = 0;
      for (int i = 0; i < 1000; ++i) {
        EXPECT_EQ(event->update_add(1, before), Status::success);
      }
    });
    EXPECT_EQ(event->wait_gt(999, all_bits, mode, milliseconds(20'000)), Status::success);
    publisher.join();
  }
}

TEST_F(SyncEventTest, StoppingEndsAWait) {
  const auto event = local_event(dpu);
  event->start();
  std::thread waiter([&] { EXPECT_EQ(event->wait_eq(1, all_bits, WaitMode::yield), Status::bad_state); });
  event->stop();
  waiter.join();
}

/// A handle on the other side; both directions.
class ExportedEventTest : public SyncEventTest, public testing::WithParamInterface<bool> {
 protected:
  std::shared_ptr<Device> owner_device = GetParam() ? host : dpu;
  std::shared_ptr<Device> other_device = GetParam() ? dpu : host;
};

TEST_P(ExportedEventTest, IsOneCounterForAllHandles) {
  const auto event = exported_event(owner_device);
  EXPECT_EQ(thrown_by([&] { event->export_to_remote_pci(*owner_device); }), Status::invalid_value);
  event->start();
  const std::vector<std::byte> blob = event->export_to_remote_pci(*owner_device);
  EXPECT_LT(blob.size(), 512U);
  std::array<std::shared_ptr<SyncEvent>, 3> handles;
  for (auto& handle : handles) {
    handle = SyncEvent::create_from_export(other_device, blob);
    EXPECT_TRUE(handle->is_from_export());
    EXPECT_EQ(thrown_by([&] { handle->add_publisher_location_cpu(other_device); }), Status::invalid_value);
    EXPECT_EQ(handle->update_set(1), Status::bad_state) << "it must be started";
    handle->start();
  }
  std::uint64_t before = 0;
  ASSERT_EQ(handles[0]->update_add(5, before), Status::success);
  ASSERT_EQ(handles[1]->update_add(5, before), Status::success);
  EXPECT_EQ(value_of(*event), 10U);
  EXPECT_EQ(handles[2]->wait_eq(10, all_bits, WaitMode::busy, milliseconds(1)), Status::success);
  EXPECT_EQ(thrown_by([&] { handles[0]->export_to_remote_pci(*other_device); }), Status::invalid_value);
}

TEST_P(ExportedEventTest, EndsWithItsOwner) {
  const auto event = exported_event(owner_device);
  event->start();
  const std::vector<std::byte> blob = event->export_to_remote_pci(*owner_device);
  const auto handle = SyncEvent::create_from_export(other_device, blob);
  handle->start();
  event->stop();
  EXPECT_EQ(handle->update_set(1), Status::not_connected);
  std::uint64_t value = 0;
  EXPECT_EQ(handle->update_add(1, value), Status::not_connected);
  EXPECT_EQ(handle->get(value), Status::not_connected);
  EXPECT_EQ(handle->wait_eq(1, all_bits, WaitMode::busy), Status::not_connected);
  EXPECT_EQ(thrown_by([&] { SyncEvent::create_from_export(other_device, blob); }), Status::not_connected);
}

TEST_P(ExportedEventTest, GoesToTheOtherSideOnly) {
  const auto event = exported_event(owner_device);
  event->start();
  const std::vector<std::byte> blob = event->export_to_remote_pci(*owner_device);
  EXPECT_EQ(thrown_by([&] { SyncEvent::create_from_export(owner_device, blob); }), Status::not_permitted);
  const auto elsewhere = open_function(GetParam() ? "p1" : "pf1");
  EXPECT_EQ(thrown_by([&] { SyncEvent::create_from_export(elsewhere, blob); }), Status::not_permitted);
  EXPECT_EQ(thrown_by([&] { SyncEventRemoteNet::create_from_export(other_device, blob); }), Status::invalid_value);
  EXPECT_EQ(thrown_by([&] { event->export_to_remote_pci(*other_device); }), Status::invalid_value);
  EXPECT_EQ(thrown_by([&] { event->export_to_remote_net(); }), Status::invalid_value);
}

TEST_P(ExportedEventTest, RefusesDamagedBlobs) {
  const auto event = exported_event(owner_device);
  event->start();
  const std::vector<std::byte> blob = event->export_to_remote_pci(*owner_device);
  for (std::size_t size = 0; size < blob.size(); ++size) {
    EXPECT_NE(thrown_by([&] { SyncEvent::create_from_export(other_device, std::span(blob).first(size)); }),
              Status::success);
  }
  for (std::size_t bit = 0; bit < 8 * blob.size(); ++bit) {
    std::vector<std::byte> flipped = blob;
    flipped[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    EXPECT_NE(thrown_by([&] { SyncEvent::create_from_export(other_device, flipped); }), Status::success) << bit;
  }
}

INSTANTIATE_TEST_SUITE_P(Direction, ExportedEventTest, testing::Values(true, false),
                         [](const auto& direction) { return direction.param ? "HostToDpu" : "DpuToHost"; });

TEST_F(SyncEventTest, UsersMemoryIsExportedWhereItCanBeMapped) {
  const auto memory = Memory::allocate(sizeof(std::uint64_t));
  const auto event = exported_event(host);
  event->set_addr(memory->data());
  event->start();
  const auto handle = SyncEvent::create_from_export(dpu, event->export_to_remote_pci(*host));
  handle->start();
  ASSERT_EQ(handle->update_set(77), Status::success);
  EXPECT_EQ(static_cast<int>(memory->data()[0]), 77);

  alignas(8) std::uint64_t word = 0;
  const auto heap = exported_event(host);
  heap->set_addr(&word);
  heap->start();
  EXPECT_EQ(thrown_by([&] { heap->export_to_remote_pci(*host); }), Status::not_supported);

  const auto larger = Memory::allocate(4096);
  const auto inside = exported_event(host);
  inside->set_addr(larger->data() + 64);
  inside->start();
  EXPECT_NE(reason_of([&] { inside->export_to_remote_pci(*host); }).find("pydoca.alloc(8)"), std::string::npos);
}

TEST_F(SyncEventTest, ANetworkPeersHandleComesFromAnotherExport) {
  const auto event = SyncEvent::create();
  event->add_publisher_location(Location::remote_net);
  event->add_subscriber_location_cpu(host);
  event->start();
  const std::vector<std::byte> blob = event->export_to_remote_net();
  const auto handle = SyncEventRemoteNet::create_from_export(dpu, blob);
  EXPECT_EQ(library::of(*handle).counter_->store(9), Status::success);
  EXPECT_EQ(value_of(*event), 9U);
  EXPECT_EQ(thrown_by([&] { SyncEvent::create_from_export(dpu, blob); }), Status::invalid_value);
  handle->close();
}

TEST_F(SyncEventTest, AMapsBlobIsNoEvent) {
  std::vector<std::byte> bytes(64);
  const auto mmap = Mmap::create();
  mmap->add_device(host);
  mmap->set_memrange(bytes.data(), bytes.size());
  mmap->set_permissions(Access::pci_read_only);
  mmap->start();
  EXPECT_EQ(thrown_by([&] { SyncEvent::create_from_export(dpu, mmap->export_pci(*host)); }), Status::invalid_value);
}

TEST_F(SyncEventTest, KeepsItsDeviceFromClosing) {
  const auto event = local_event(dpu);
  EXPECT_EQ(thrown_by([&] { dpu->close(); }), Status::in_use);
  event->close();
  dpu->close();
}

TEST_F(SyncEventTest, AHotRemovedDeviceEndsWaits) {
  const auto event = local_event(open_function("p1"));
  event->start();
  std::thread remover([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    sim::remove_device("p1");
  });
  EXPECT_EQ(event->wait_eq(1, all_bits, WaitMode::busy, std::chrono::seconds(30)), Status::driver);
  remover.join();
  EXPECT_EQ(event->wait_eq(1, all_bits, WaitMode::yield, std::chrono::seconds(30)), Status::driver);
  sim::restore_device("p1");
}

}  // namespace
}  // namespace pydoca
