#include "pydoca/backend/device.hpp"

#include "pydoca/backend/channel.hpp"
#include "pydoca/capabilities.hpp"
#include "pydoca/device_properties.hpp"
#include "pydoca/dma.hpp"
#include "pydoca/progress_engine.hpp"

#include "backend/verbs/verbs_subject.hpp"
#include "rig/expect_error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <sys/wait.h>
#include <unistd.h>

namespace pydoca::verbs {
namespace {

using ::testing::HasSubstr;

class VerbsDevice : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string reason = why_absent(); !reason.empty()) {
      GTEST_SKIP() << reason;
    }
    ::setenv("PYDOCA_BACKEND", "verbs", 1);
    info.emplace(find_subject());
  }

  std::optional<DeviceInfo> info;
};

TEST_F(VerbsDevice, HasTheNamesThatTheSystemGivesIt) {
  EXPECT_EQ(info->properties().backend, "verbs");
  EXPECT_EQ(info->properties().ibdev_name, info->name());
  EXPECT_EQ(find_device(info->name()).name(), info->name());
  if (!info->properties().iface_name.empty()) {
    EXPECT_EQ(find_device(info->properties().iface_name).name(), info->name());
  }
}

TEST_F(VerbsDevice, InSoftwareHasNoPciAddressAndSaysSo) {
  if (!info->pci_addr().empty()) {
    EXPECT_EQ(find_device(info->pci_addr()).name(), info->name());
    GTEST_SKIP() << info->name() << " is at " << info->pci_addr();
  }
  EXPECT_EQ(info->properties().profile, "software");
  EXPECT_FALSE(info->is_equal_pci_addr("03:00.0"));
  try {
    find_device("none of them");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr(info->name() + " (no PCI address, host)"));
  }
}

TEST_F(VerbsDevice, SaysThatRdmaCoreHasNoOtherSideOfThePcieLink) {
  for (const std::string_view name : {"comch_server", "comch_client", "mmap_export_pci", "mmap_create_from_export_pci",
                                      "sync_event_export_to_remote_pci", "sync_event_create_from_export"}) {
    EXPECT_EQ(find_capability(name).of(*info).reason,
              "rdma-core reaches network peers, not the other side of the PCIe link")
        << name;
  }
  EXPECT_EQ(find_capability("representors").of(*info).reason, "rdma-core lists no representors");
}

TEST_F(VerbsDevice, HasThePropertiesOfItsPort) {
  EXPECT_GT(info->properties().active_rate, 0U);
  EXPECT_THAT(info->properties().vuid, HasSubstr("0x"));
  EXPECT_NE(info->properties().mac_addr.has_value(), info->properties().lid.has_value());
  EXPECT_GE(info->capabilities().dma->max_buf_size, 1U << 20);
  EXPECT_GE(info->capabilities().dma->max_num_tasks, 128U);
  EXPECT_TRUE(info->capabilities().mmap_export_rdma);
  EXPECT_FALSE(info->capabilities().mmap_export_pci);
  EXPECT_FALSE(info->capabilities().comch.has_value());
}

TEST_F(VerbsDevice, StartsWithAsManyTasksAsItSays) {
  const auto ignore = [](Task&, std::uint64_t, std::uint64_t) noexcept {};
  const auto engine = ProgressEngine::create();
  const auto dma = Dma::create(pydoca::Device::open(*info));
  dma->set_memcpy_conf(ignore, ignore, Dma::max_num_tasks(*info));
  engine->connect(dma);
  EXPECT_EQ(dma->start(), Status::success);
  EXPECT_EQ(dma->stop(), Status::success);
}

TEST_F(VerbsDevice, ThatHasGoneIsNotFound) {
  DeviceProperties properties = info->properties();
  properties.name = "gone0";
  EXPECT_EQ(thrown_by([&] { pydoca::Device::open(DeviceInfo(create(), properties)); }), Status::not_found);
}

TEST_F(VerbsDevice, RefusesWhatItCannotDo) {
  const auto device = pydoca::Device::open(*info);
  EXPECT_EQ(thrown_by([&] { device->representors(); }), Status::not_supported);
  EXPECT_EQ(thrown_by([&] { device->backend().import_memory({}, nullptr); }), Status::invalid_value);
  EXPECT_EQ(thrown_by([&] { device->backend().dial("service", {}); }), Status::not_supported);
}

TEST_F(VerbsDevice, IsLeftAloneByAForkedChild) {
  const auto device = pydoca::Device::open(*info);
  const pid_t child = ::fork();
  if (child == 0) {
    ::_exit(thrown_by([&] { device->close(); }) == Status::success ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  alignas(4096) static std::byte bytes[4096];
  EXPECT_NE(device->backend().register_memory({.addr = bytes, .len = sizeof bytes, .location = {}}, Access{}), nullptr);
}

}  // namespace
}  // namespace pydoca::verbs
