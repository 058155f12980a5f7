#include <pydoca/mmap.hpp>

#include "rig/expect_error.hpp"
#include "rig/library/memory_rig.hpp"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <span>
#include <thread>
#include <vector>

namespace pydoca {
namespace {

class MmapTest : public testing::Test {
 protected:
  /// Configured, but not started.
  std::shared_ptr<Mmap> configured() {
    auto mmap = Mmap::create();
    mmap->add_device(device_);
    mmap->set_memrange(bytes_.data(), bytes_.size());
    return mmap;
  }

  fake::Backend backend_{{.can_export = true, .can_import = true}};
  std::shared_ptr<Device> device_ = backend_.open_device();
  fake::Backend other_backend_;
  std::shared_ptr<Device> other_device_ = other_backend_.open_device();
  std::vector<std::byte> bytes_ = std::vector<std::byte>(4096);
};

TEST_F(MmapTest, IsNewWithoutRangeAndStopped) {
  const auto mmap = Mmap::create();
  EXPECT_FALSE(mmap->is_started());
  EXPECT_FALSE(mmap->is_exported());
  EXPECT_FALSE(mmap->is_from_export());
  EXPECT_EQ(mmap->len(), 0U);
  EXPECT_EQ(mmap->addr(), 0U);
  EXPECT_EQ(mmap->user_data(), 0U);
  EXPECT_EQ(mmap->num_bufs(), 0U);
  EXPECT_EQ(mmap->permissions(), Access::local_read_write);
  EXPECT_GE(mmap->max_num_devices(), 1U);
}

TEST_F(MmapTest, NeedsARangeAndADeviceToStart) {
  const auto mmap = Mmap::create();
  EXPECT_EQ(thrown_by([&] { mmap->start(); }), Status::invalid_value);
  mmap->set_memrange(bytes_.data(), bytes_.size());
  EXPECT_EQ(thrown_by([&] { mmap->start(); }), Status::invalid_value);
  mmap->add_device(device_);
  mmap->start();
  EXPECT_TRUE(mmap->is_started());
  EXPECT_EQ(thrown_by([&] { mmap->start(); }), Status::not_permitted);
}

TEST_F(MmapTest, StopsAndStartsAgain) {
  const auto mmap = configured();
  mmap->stop();
  for (int i = 0; i < 3; ++i) {
    mmap->start();
    mmap->stop();
    mmap->stop();
    EXPECT_FALSE(mmap->is_started());
  }
}

TEST_F(MmapTest, TakesOneRangeForLife) {
  const auto mmap = configured();
  EXPECT_EQ(thrown_by([&] { mmap->set_memrange(bytes_.data(), 8); }), Status::not_permitted);
  mmap->start();
  EXPECT_EQ(thrown_by([&] { mmap->set_memrange(bytes_.data(), 8); }), Status::bad_state);
  mmap->stop();
  EXPECT_EQ(thrown_by([&] { mmap->set_memrange(bytes_.data(), 8); }), Status::not_permitted);
  EXPECT_EQ(mmap->addr(), address_of(bytes_.data()));
  EXPECT_EQ(mmap->len(), bytes_.size());
}

TEST_F(MmapTest, RefusesARangeThatIsNone) {
  const auto mmap = Mmap::create();
  const auto start = address_of(bytes_.data());
  EXPECT_EQ(thrown_by([&] { mmap->set_memrange(nullptr, 8); }), Status::invalid_value);
  EXPECT_EQ(thrown_by([&] { mmap->set_memrange(bytes_.data(), 0); }), Status::invalid_value);
  EXPECT_EQ(thrown_by([&] { mmap->set_memrange(bytes_.data(), ~std::uint64_t{0}); }), Status::invalid_value);
  EXPECT_EQ(thrown_by([&] { mmap->set_memrange(bytes_.data(), ~std::uint64_t{0} - start + 1); }),
            Status::invalid_value);
  mmap->set_memrange(bytes_.data(), 8);
  EXPECT_EQ(mmap->len(), 8U);
}

TEST_F(MmapTest, ContainsExactlyItsRange) {
  const auto mmap = configured();
  const std::uint64_t base = mmap->addr();
  const std::uint64_t len = mmap->len();
  EXPECT_TRUE(mmap->contains(base, len));
  EXPECT_TRUE(mmap->contains(base + len, 0));
  EXPECT_TRUE(mmap->contains(base + len - 1, 1));
  EXPECT_FALSE(mmap->contains(base + len, 1));
  EXPECT_FALSE(mmap->contains(base - 1, 1));
  EXPECT_FALSE(mmap->contains(base, len + 1));
  EXPECT_FALSE(mmap->contains(base + 1, std::numeric_limits<std::uint64_t>::max()));
  EXPECT_FALSE(mmap->contains(std::numeric_limits<std::uint64_t>::max(), 2));
}

TEST_F(MmapTest, TakesADeviceOnce) {
  const auto mmap = configured();
  EXPECT_EQ(thrown_by([&] { mmap->add_device(device_); }), Status::already_exist);
  EXPECT_EQ(thrown_by([&] { mmap->add_device(nullptr); }), Status::invalid_value);
  mmap->add_device(other_device_);
  EXPECT_EQ(mmap->num_devices(), 2U);
}

TEST_F(MmapTest, RemovesOnlyWhatWasAdded) {
  const auto mmap = configured();
  EXPECT_EQ(thrown_by([&] { mmap->remove_device(*other_device_); }), Status::not_found);
  mmap->add_device(other_device_);
  mmap->remove_device(*device_);
  EXPECT_EQ(mmap->num_devices(), 1U);
  EXPECT_EQ(thrown_by([&] { mmap->remove_device(*device_); }), Status::not_found);
  mmap->start();
  EXPECT_EQ(thrown_by([&] { mmap->remove_device(*other_device_); }), Status::not_permitted);
}

TEST_F(MmapTest, LimitsItsDevices) {
  const auto mmap = Mmap::create();
  mmap->set_max_num_devices(1);
  mmap->add_device(device_);
  EXPECT_EQ(thrown_by([&] { mmap->add_device(other_device_); }), Status::no_memory);
  mmap->set_max_num_devices(2);
  mmap->add_device(other_device_);
  EXPECT_EQ(thrown_by([&] { mmap->set_max_num_devices(1); }), Status::invalid_value);
  EXPECT_EQ(thrown_by([&] { mmap->set_max_num_devices(0); }), Status::invalid_value);
  EXPECT_EQ(thrown_by([&] { mmap->set_max_num_devices(max_open_devices + 1); }), Status::invalid_value);
}

TEST_F(MmapTest, FixesTheLimitOfDevicesAtTheFirstStart) {
  const auto mmap = configured();
  mmap->start();
  EXPECT_EQ(thrown_by([&] { mmap->set_max_num_devices(4); }), Status::not_permitted);
  mmap->stop();
  EXPECT_EQ(thrown_by([&] { mmap->set_max_num_devices(4); }), Status::not_permitted);
}

TEST_F(MmapTest, RefusesPermissionsThatContradictOrDoNotExist) {
  const auto mmap = Mmap::create();
  EXPECT_EQ(thrown_by([&] { mmap->set_permissions(Access::pci_read_only | Access::pci_read_write); }),
            Status::invalid_value);
  EXPECT_EQ(thrown_by([&] { mmap->set_permissions(static_cast<Access>(128)); }), Status::invalid_value);
  EXPECT_EQ(thrown_by([&] { mmap->set_permissions(static_cast<Access>(0x80000000)); }), Status::invalid_value);
  mmap->set_permissions(Access::local_read_only | Access::pci_read_only);
  EXPECT_TRUE(allows(mmap->permissions(), Access::pci_read_only));
}

TEST_F(MmapTest, TakesReadOnlyMemoryForReading) {
  const std::vector<std::byte> bytes(64);
  const auto mmap = Mmap::create();
  mmap->set_read_only_memrange(bytes.data(), bytes.size());
  EXPECT_EQ(mmap->permissions(), Access::local_read_only);
  EXPECT_EQ(thrown_by([&] { mmap->set_permissions(Access::local_read_write); }), Status::invalid_value);
  EXPECT_EQ(thrown_by([&] { mmap->set_permissions(Access::local_read_only | Access::rdma_atomic); }),
            Status::invalid_value);
  mmap->set_permissions(Access::local_read_only | Access::pci_read_only);
  mmap->add_device(device_);
  mmap->start();
  EXPECT_TRUE(mmap->is_started());
}

TEST_F(MmapTest, RefusesReadOnlyMemoryAfterPermissionsToWrite) {
  const std::vector<std::byte> bytes(64);
  const auto mmap = Mmap::create();
  mmap->set_permissions(Access::local_read_write);
  EXPECT_EQ(thrown_by([&] { mmap->set_read_only_memrange(bytes.data(), bytes.size()); }), Status::invalid_value);
  EXPECT_EQ(mmap->len(), 0U);
  mmap->set_permissions(Access::local_read_only);
  mmap->set_read_only_memrange(bytes.data(), bytes.size());
  EXPECT_EQ(mmap->len(), bytes.size());
}

TEST_F(MmapTest, RefusesConfigurationWhileStarted) {
  const auto mmap = configured();
  mmap->start();
  EXPECT_EQ(thrown_by([&] { mmap->add_device(other_device_); }), Status::not_permitted);
  EXPECT_EQ(thrown_by([&] { mmap->remove_device(*device_); }), Status::not_permitted);
  EXPECT_EQ(thrown_by([&] { mmap->set_permissions(Access::local_read_only); }), Status::bad_state);
  EXPECT_EQ(thrown_by([&] { mmap->set_free_callback({}); }), Status::bad_state);
  EXPECT_EQ(thrown_by([&] { mmap->set_user_data(1); }), Status::bad_state);
  mmap->stop();
  mmap->set_user_data(5);
  mmap->set_permissions(Access::local_read_only);
  EXPECT_EQ(mmap->user_data(), 5U);
}

TEST_F(MmapTest, RefusesToStopOrCloseWhileBufsLive) {
  const auto mmap = configured();
  mmap->start();
  Bufs bufs(2);
  Buf* buf = nullptr;
  ASSERT_EQ(bufs.inventory->get_by_addr(mmap, mmap->addr(), 8, buf), Status::success);
  EXPECT_EQ(mmap->num_bufs(), 1U);
  EXPECT_EQ(thrown_by([&] { mmap->stop(); }), Status::not_permitted);
  EXPECT_EQ(thrown_by([&] { mmap->close(); }), Status::not_permitted);
  EXPECT_TRUE(mmap->is_started());
  Bufs::free({buf});
  EXPECT_EQ(mmap->num_bufs(), 0U);
  mmap->close();
}

TEST_F(MmapTest, WithThreadSafetyIsClosedWhileBufsLiveAndReleasedAfterThem) {
  int runs = 0;
  auto mmap = configured();
  mmap->set_free_callback([](std::span<std::byte>, int* count) noexcept { ++*count; }, as_user_data(&runs));
  mmap->enable_thread_safety();
  EXPECT_TRUE(mmap->is_thread_safe());
  mmap->start();
  Bufs bufs(2);
  Buf* buf = nullptr;
  Buf* none = nullptr;
  ASSERT_EQ(bufs.inventory->get_by_addr(mmap, mmap->addr(), 8, buf), Status::success);
  EXPECT_EQ(thrown_by([&] { mmap->stop(); }), Status::not_permitted);
  mmap->close();
  EXPECT_FALSE(mmap->is_started());
  EXPECT_FALSE(mmap->is_closed());
  EXPECT_EQ(bufs.inventory->get_by_addr(mmap, mmap->addr(), 8, none), Status::bad_state);
  EXPECT_EQ(thrown_by([&] { mmap->start(); }), Status::bad_state);
  EXPECT_EQ(thrown_by([&] { mmap->set_user_data(1); }), Status::bad_state);
  mmap.reset();
  EXPECT_EQ(runs, 0);
  EXPECT_EQ(thrown_by([&] { device_->close(); }), Status::in_use);
  Bufs::free({buf});
  EXPECT_EQ(runs, 1);
  device_->close();
}

TEST_F(MmapTest, WithThreadSafetyIsReleasedByASecondClose) {
  const auto mmap = configured();
  mmap->enable_thread_safety();
  mmap->start();
  Bufs bufs(1);
  Buf* buf = nullptr;
  ASSERT_EQ(bufs.inventory->get_by_addr(mmap, mmap->addr(), 8, buf), Status::success);
  mmap->close();
  Bufs::free({buf});
  mmap->close();
  EXPECT_TRUE(mmap->is_closed());
  device_->close();
}

TEST_F(MmapTest, WithThreadSafetyBufsAreGotInSeveralThreads) {
  const auto mmap = configured();
  mmap->enable_thread_safety();
  mmap->start();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      Bufs bufs(4);
      for (int round = 0; round < 1000; ++round) {
        Buf* buf = nullptr;
        ASSERT_EQ(bufs.inventory->get_by_data(mmap, mmap->addr(), 8, buf), Status::success);
        Bufs::free({buf});
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(mmap->num_bufs(), 0U);
  mmap->close();
}

TEST_F(MmapTest, ThreadSafetyIsEnabledWhileStopped) {
  const auto mmap = configured();
  mmap->start();
  EXPECT_EQ(thrown_by([&] { mmap->enable_thread_safety(); }), Status::not_permitted);
  mmap->stop();
  mmap->enable_thread_safety();
  mmap->close();
  EXPECT_EQ(thrown_by([&] { mmap->enable_thread_safety(); }), Status::bad_state);
}

TEST_F(MmapTest, MemoryOfAnotherDriverIsRefusedByACapability) {
  EXPECT_FALSE(Mmap::is_dmabuf_supported(device_->info()));
  const auto mmap = Mmap::create();
  mmap->add_device(device_);
  EXPECT_EQ(thrown_by([&] { mmap->set_dmabuf_memrange(0, bytes_.data(), 0, 64); }), Status::not_supported);
  EXPECT_EQ(thrown_by([&] { mmap->set_dmabuf_memrange(-1, bytes_.data(), 0, 64); }), Status::invalid_value);
  EXPECT_EQ(thrown_by([&] { mmap->set_dmabuf_memrange(0, nullptr, 0, 64); }), Status::invalid_value);
  EXPECT_EQ(thrown_by([&] { mmap->set_dmabuf_memrange(0, bytes_.data(), 0, 0); }), Status::invalid_value);
  mmap->set_memrange(bytes_.data(), bytes_.size());
  EXPECT_EQ(thrown_by([&] { mmap->set_dmabuf_memrange(0, bytes_.data(), 0, 64); }), Status::not_permitted);
  mmap->start();
  EXPECT_EQ(thrown_by([&] { mmap->set_dmabuf_memrange(0, bytes_.data(), 0, 64); }), Status::bad_state);
}

TEST_F(MmapTest, ClosedRefusesEverythingButClose) {
  const auto mmap = configured();
  mmap->close();
  mmap->close();
  EXPECT_EQ(thrown_by([&] { mmap->start(); }), Status::bad_state);
  EXPECT_EQ(thrown_by([&] { mmap->add_device(device_); }), Status::bad_state);
  EXPECT_EQ(device_->num_users(), 0U);
}

TEST_F(MmapTest, RunsTheFreeCallbackOnceIfItWasEverStarted) {
  struct Freed {
    int runs = 0;
    void* addr = nullptr;
    std::size_t len = 0;
  } freed;
  const Mmap::FreeCallback callback = [](std::span<std::byte> memory, Freed* seen) noexcept {
    *seen = {.runs = seen->runs + 1, .addr = memory.data(), .len = memory.size()};
  };
  {
    const auto never_started = configured();
    never_started->set_free_callback(callback, as_user_data(&freed));
  }
  EXPECT_EQ(freed.runs, 0);
  {
    const auto mmap = configured();
    mmap->set_free_callback(callback, as_user_data(&freed));
    mmap->start();
    mmap->stop();
    EXPECT_EQ(freed.runs, 0);
    mmap->close();
    EXPECT_EQ(freed.runs, 1);
  }
  EXPECT_EQ(freed.runs, 1);
  EXPECT_EQ(freed.addr, bytes_.data());
  EXPECT_EQ(freed.len, bytes_.size());
}

TEST_F(MmapTest, RunsAFreeCallbackOnlyIfItWasStartedAfterIt) {
  int runs = 0;
  {
    const auto mmap = configured();
    mmap->start();
    mmap->stop();
    mmap->set_free_callback([](std::span<std::byte>, int* count) noexcept { ++*count; }, as_user_data(&runs));
  }
  EXPECT_EQ(runs, 0);
}

TEST_F(MmapTest, KeepsItsMemorysOwnerUntilItCloses) {
  auto owner = std::make_shared<int>(0);
  const std::weak_ptr<int> watch = owner;
  const auto mmap = Mmap::create();
  mmap->set_memrange(bytes_.data(), bytes_.size(), std::move(owner));
  mmap->add_device(device_);
  mmap->start();
  mmap->stop();
  EXPECT_FALSE(watch.expired());
  mmap->close();
  EXPECT_TRUE(watch.expired());
}

TEST_F(MmapTest, KeepsItsDeviceFromClosing) {
  const auto mmap = configured();
  EXPECT_EQ(device_->num_users(), 1U);
  EXPECT_EQ(thrown_by([&] { device_->close(); }), Status::in_use);
  mmap->remove_device(*device_);
  device_->close();
}

TEST_F(MmapTest, ExportsOnlyStartedWithPermissionAndAnAddedDevice) {
  const auto mmap = configured();
  EXPECT_EQ(thrown_by([&] { mmap->export_pci(*device_); }), Status::not_permitted);
  mmap->start();
  EXPECT_EQ(thrown_by([&] { mmap->export_pci(*device_); }), Status::not_permitted);
  mmap->stop();
  mmap->set_permissions(Access::local_read_write | Access::pci_read_only);
  mmap->start();
  EXPECT_EQ(thrown_by([&] { mmap->export_pci(*other_device_); }), Status::not_found);
  EXPECT_FALSE(mmap->is_exported());
  EXPECT_LT(mmap->export_pci(*device_).size(), 512U);
  EXPECT_TRUE(mmap->is_exported());
  mmap->stop();
  EXPECT_FALSE(mmap->is_exported());
}

TEST_F(MmapTest, RefusesToExportOnADeviceWithoutTheCapability) {
  const auto mmap = configured();
  mmap->add_device(other_device_);
  mmap->set_permissions(Access::pci_read_write);
  mmap->start();
  EXPECT_EQ(thrown_by([&] { mmap->export_pci(*other_device_); }), Status::not_supported);
}

TEST_F(MmapTest, StopAnswersAgainWhileAPeerIsInside) {
  const auto mmap = configured();
  mmap->start();
  fake::behind(*device_).last_region.load()->busy = 2;
  EXPECT_EQ(thrown_by([&] { mmap->stop(); }), Status::again);
  EXPECT_EQ(thrown_by([&] { mmap->stop(); }), Status::again);
  EXPECT_TRUE(mmap->is_started());
  mmap->stop();
  EXPECT_FALSE(mmap->is_started());
}

class ImportedMmapTest : public MmapTest {
 protected:
  std::vector<std::byte> blob_ = std::vector<std::byte>(32);
  std::shared_ptr<Mmap> mmap_ = Mmap::create_from_export(device_, blob_, 9);
};

TEST_F(ImportedMmapTest, IsStartedWithTheExportersAddresses) {
  EXPECT_TRUE(mmap_->is_started());
  EXPECT_TRUE(mmap_->is_from_export());
  EXPECT_EQ(mmap_->addr(), address_of(blob_.data()));
  EXPECT_EQ(mmap_->len(), 32U);
  EXPECT_EQ(mmap_->user_data(), 9U);
  Bufs bufs(1);
  Buf* buf = nullptr;
  ASSERT_EQ(bufs.inventory->get_by_data(mmap_, mmap_->addr(), 32, buf), Status::success);
  Bufs::free({buf});
}

TEST_F(ImportedMmapTest, RefusesConfiguration) {
  EXPECT_EQ(thrown_by([&] { mmap_->add_device(other_device_); }), Status::not_permitted);
  EXPECT_EQ(thrown_by([&] { mmap_->remove_device(*device_); }), Status::not_permitted);
  EXPECT_EQ(thrown_by([&] { mmap_->set_memrange(bytes_.data(), 8); }), Status::not_permitted);
  EXPECT_EQ(thrown_by([&] { mmap_->set_permissions(Access::local_read_only); }), Status::not_permitted);
  EXPECT_EQ(thrown_by([&] { mmap_->start(); }), Status::not_permitted);
  EXPECT_EQ(thrown_by([&] { mmap_->export_pci(*device_); }), Status::not_permitted);
}

TEST_F(ImportedMmapTest, MayBeStopped) {
  mmap_->stop();
  EXPECT_FALSE(mmap_->is_started());
  EXPECT_EQ(thrown_by([&] { mmap_->start(); }), Status::not_permitted);
}

TEST_F(ImportedMmapTest, NeedsADeviceThatImports) {
  EXPECT_EQ(thrown_by([&] { Mmap::create_from_export(other_device_, blob_); }), Status::not_supported);
  EXPECT_EQ(thrown_by([&] { Mmap::create_from_export(nullptr, blob_); }), Status::invalid_value);
  EXPECT_EQ(other_device_->num_users(), 0U);
}

}  // namespace
}  // namespace pydoca
